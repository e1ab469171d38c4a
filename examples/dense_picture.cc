// A dense CRF over a picture with the parameters of pydensecrf's README: 5 iterations of mean field.
#include <array>
#include <iostream>
#include <vector>

#include "submarine/submarine.h"

namespace sm = submarine;

int main() {
  const int width = 64;
  const int height = 48;
  std::vector<float> rgb(3 * width * height);  // 0 to 255, channels innermost
  sm::Matrix<float> unary(width * height, 2);
  for (int a = 0; a < width * height; ++a) {
    const bool bright = a % width > a / width;
    for (int c = 0; c < 3; ++c) rgb[3 * a + c] = bright ? 200.0F : 60.0F;
    unary(a, bright != (a * 7919 % 10 < 3) ? 0 : 1) = 0.8F;  // wrong on 3 of 10 pixels
  }
  std::vector<sm::GaussianKernel> kernels = {
      sm::PositionKernel(width, height, 3.0, 3.0, /*weight=*/3.0),
      sm::BilateralKernel(width, height, 3, rgb, 80.0, 80.0, std::array{13.0}, /*weight=*/10.0)};
  for (auto& kernel : kernels) kernel.normalisation = sm::KernelNormalisation::kSymmetric;
  const sm::DenseCrf model(unary, kernels, sm::PottsLabels(2), sm::PairCounting::kOnce);
  const auto result = sm::Solve(model, sm::MeanFieldPreset());
  int bright = 0;
  for (const int label : result.labels) bright += label;
  std::cout << bright << " of " << width * height << " pixels are bright\n";
}
