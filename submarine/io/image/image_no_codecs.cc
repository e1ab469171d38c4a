// Replaces the decoders when the library is built without libpng, libjpeg and libtiff
// (-DSUBMARINE_IMAGE_CODECS=OFF), as for Python wheels, whose users read pictures by other means.
#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {

void DecodePng(const EncodedImage& file, ImageStrips&) {
  file.Fail("is a PNG picture, which this build cannot read; give an .npy array instead");
}

void DecodeJpeg(const EncodedImage& file, ImageStrips&) {
  file.Fail("is a JPEG picture, which this build cannot read; give an .npy array instead");
}

void DecodeTiff(const EncodedImage& file, ImageStrips&) {
  file.Fail("is a TIFF picture, which this build cannot read; give an .npy array instead");
}

}  // namespace submarine::internal
