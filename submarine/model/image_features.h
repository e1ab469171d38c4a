// Kernels of dense CRFs over pictures and volumes.
//
// Variable a of a picture is pixel (x, y) with a = y width + x; of a volume, voxel (x, y, z) with a
// = (z height + y) width + x. All functions throw InvalidInput, naming the argument, for sizes that
// are not positive or do not match, sigmas that are not finite and > 0, and values that are not
// finite or that span so many sigmas that double precision cannot tell neighbours apart.
//
// Kernels are about the numbers given, with all their digits: GaussianKernel::feature_error bounds
// the rounding.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine {

// exp(-dx^2 / (2 sigma_x^2) - dy^2 / (2 sigma_y^2)), named "position 1.64" or "position 3,5". `size`
// is (width, height) or (width, height, depth), with a sigma for each.
GaussianKernel PositionKernel(std::span<const int> size, std::span<const double> sigma,
                              double weight);
GaussianKernel PositionKernel(int width, int height, double sigma_x, double sigma_y, double weight);

// The same times exp(-|colour difference|^2 / (2 sigma_colour^2)), named "bilateral 50.84/1.51".
// `image` holds the pixels in the order of the variables, channels innermost; `sigma_colour` is one
// number for all channels or one for each.
GaussianKernel BilateralKernel(std::span<const int> size, int channels,
                               std::span<const float> image, std::span<const double> sigma,
                               std::span<const double> sigma_colour, double weight);
GaussianKernel BilateralKernel(std::span<const int> size, int channels,
                               std::span<const double> image, std::span<const double> sigma,
                               std::span<const double> sigma_colour, double weight);
GaussianKernel BilateralKernel(int width, int height, int channels, std::span<const float> image,
                               double sigma_x, double sigma_y, std::span<const double> sigma_colour,
                               double weight);

// Any features, one row per variable; `sigmas` is one number for all columns or one for each.
GaussianKernel FeatureKernel(Matrix<double> features, std::span<const double> sigmas, double weight,
                             const std::string& name);
GaussianKernel FeatureKernel(const Matrix<float>& features, std::span<const double> sigmas,
                             double weight, const std::string& name);

}  // namespace submarine
