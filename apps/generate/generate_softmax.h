// `submarine generate --segmentation` and `--softmax`: labelled pictures for segmentation, and softmaxes for pictures whose
// labels are known.
#pragma once

#include <string>

#include "apps/generate/made_softmax.h"

namespace submarine::apps {

// Writes NAME.png, NAME.labels.png and NAME.softmax.npy. Throws InvalidInput, FileError.
void GenerateSegmentation(const std::string& name, int width, int height, int labels,
                          const MadeSoftmax& options);

// The softmax of a picture of labels, whose sample `unknown` is no label, as OUTPUT.npy of shape (height, width, labels).
void GenerateSoftmax(const std::string& truth, int labels, int unknown, const MadeSoftmax& options,
                     const std::string& output);

}  // namespace submarine::apps
