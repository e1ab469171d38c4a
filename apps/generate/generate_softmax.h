// `submarine generate --segmentation` and `--softmax`: labelled pictures for segmentation, and
// softmaxes for pictures with known labels.
#pragma once

#include <string>

#include "apps/generate/synthetic_softmax.h"

namespace submarine::apps {

// Writes NAME.png, NAME.labels.png and NAME.softmax.npy. Throws InvalidInput, FileError.
void GenerateSegmentation(const std::string& name, int width, int height, int labels,
                          const SyntheticSoftmax& options);

// Writes the softmax for a label map, whose sample `unknown` means unknown, as OUTPUT.npy of shape
// (height, width, labels).
void GenerateSoftmax(const std::string& truth, int labels, int unknown,
                     const SyntheticSoftmax& options, const std::string& output);

}  // namespace submarine::apps
