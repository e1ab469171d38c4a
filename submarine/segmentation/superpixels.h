// Superpixels: a picture in regions of about the same size that follow its edges, by SLIC (Achanta et al., PAMI 2012), and the
// robust P^n Potts terms that ask the pixels of a region to agree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/model/clique.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine {

struct SuperpixelOptions {
  double size = 20.0;         // pixels between neighbouring centres: regions of about size x size
  double compactness = 10.0;  // how much a distance of `size` counts, in units of CIELAB colour
};

// The number of its region for every pixel, from 0 upwards, all in use; regions are connected. The same for any number of
// threads. Colours of three channels are compared in CIELAB, others as they are, scaled to 0 to 100. Throws InvalidInput for
// a size below 2, or larger than the picture, a compactness that is not positive, and samples that do not fit the picture.
std::vector<int> Superpixels(const PictureView& picture, const SuperpixelOptions& options);

// A clique for every region of a map of regions: pixels of the same number.
struct RegionTerms {
  double gamma = 0.2;  // what a region costs at most, in nats for each of its pixels
  double share =
      0.1;  // Q: the share of its pixels that disagree where it does; above 0, at most 0.5

  bool operator==(const RegionTerms&) const = default;
};
// Throws InvalidInput for numbers out of range. Regions of one pixel, which never cost anything, are left out; so are all where
// gamma is 0.
std::vector<Clique> RegionCliques(std::span<const int> regions, const RegionTerms& terms);

// Those of all scales of the parameters.
std::vector<Clique> SegmentationCliques(const PictureView& picture,
                                        const SegmentationParameters& parameters);

// What the command and Python take: "SLIC[:SIZE[,COMPACTNESS]],GAMMA,Q" or "FILE,GAMMA,Q".
struct SuperpixelSpec {
  std::optional<SuperpixelOptions> slic;  // none: of a file
  std::string file = {};                  // a map of regions
  RegionTerms terms = {};
};
// Throws InvalidInput, saying what is expected.
SuperpixelSpec ParseSuperpixels(const std::string& text);

}  // namespace submarine
