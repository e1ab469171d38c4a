#include "submarine/io/model/dense_bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/image.h"
#include "submarine/io/image/png.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/model/image_features.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<float> RandomFloats(std::size_t count, float scale = 1.0F) {
  std::mt19937_64 random(9);
  std::vector<float> values(count);
  for (float& v : values) v = scale * std::uniform_real_distribution<float>(0.0F, 1.0F)(random);
  return values;
}

template <class T = float>
Matrix<T> RandomMatrix(std::size_t rows, std::size_t cols) {
  const std::vector<float> values = RandomFloats(rows * cols);
  Matrix<T> matrix(rows, cols);
  std::copy(values.begin(), values.end(), matrix.data());
  return matrix;
}

template <class T>
void WriteArray(const std::filesystem::path& path, const std::vector<T>& values,
                const NpyShape& shape) {
  WriteNpy(path, std::span<const T>(values), shape);
}

std::vector<float> Values(const Matrix<float>& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

void ExpectSameKernel(const GaussianKernel& a, const GaussianKernel& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.normalisation, b.normalisation);
  EXPECT_EQ(a.feature_error, b.feature_error);
}

void ExpectSameModel(const DenseCrf& a, const DenseCrf& b) {
  EXPECT_EQ(a.unary(), b.unary());
  EXPECT_EQ(a.metric().distance, b.metric().distance);
  EXPECT_EQ(a.constant(), b.constant());
  EXPECT_EQ(a.counting(), b.counting());
  ASSERT_EQ(a.kernels().size(), b.kernels().size());
  for (std::size_t m = 0; m < a.kernels().size(); ++m) {
    ExpectSameKernel(a.kernels()[m], b.kernels()[m]);
  }
}

// A directory with arrays and pictures for a 4 x 3 picture and a 3 x 2 x 2 volume, both of 12
// variables, with 2 labels.
class DenseBundleTest : public ::testing::Test {
 protected:
  DenseBundleTest() {
    WriteArray(dir_ / "u.npy", Values(unary_), {3, 4, 2});
    WriteArray(dir_ / "flat.npy", Values(unary_), {12, 2});
    WriteArray(dir_ / "vol.npy", Values(unary_), {2, 2, 3, 2});
    WritePng(dir_ / "img.png", 4, 3, 3, bytes_);
    WritePng16(dir_ / "grey.png", 4, 3, std::vector<std::uint16_t>(12, 257));
    WriteArray(dir_ / "img.npy", colours_, {3, 4, 3});
    WriteArray(dir_ / "grey.npy", RandomFloats(12, 9.0F), {3, 4});
    WriteArray(dir_ / "vol_img.npy", RandomFloats(12, 9.0F), {2, 2, 3});
    WriteArray(dir_ / "f.npy", RandomFloats(36), {12, 3});
  }
  static std::vector<float> ToFloat(const std::vector<std::uint8_t>& bytes) {
    return {bytes.begin(), bytes.end()};
  }
  LoadedDense Read(const std::string& json, bool strict = false) {
    return ReadDenseBundle(dir_.WriteText("m.json", json), strict);
  }
  // A header of the 4 x 3 picture with these further keys.
  LoadedDense ReadPicture(const std::string& rest) { return Read(kPicture + rest + "}"); }
  std::string Refused(const std::string& json) {
    return MessageOf<FileError>([&] { Read(json); });
  }

  const std::string kPicture = R"({"submarine": "dense", "width": 4, "height": 3, "labels": 2,
    "unary": "u.npy", "metric": "potts", )";
  const TempDir dir_;
  const Matrix<float> unary_ = RandomMatrix(12, 2);
  const std::vector<std::uint8_t> bytes_ = [] {
    std::vector<std::uint8_t> bytes(36);
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::uint8_t>(k * 37);
    return bytes;
  }();
  const std::vector<float> colours_ = ToFloat(bytes_);
};

TEST_F(DenseBundleTest, PictureWithAllKernels) {
  const LoadedDense loaded = ReadPicture(R"("image": "img.png", "pairs": "once", "constant": -2.5,
    "kernels": [{"type": "position", "sigma": [3, 2], "weight": 4},
                {"type": "bilateral", "sigma": 80, "colour_sigma": 13, "weight": 10,
                 "normalisation": "symmetric"},
                {"type": "features", "features": "f.npy", "sigma": [1, 2, 0.5]}])");
  EXPECT_EQ(loaded.width, 4);
  EXPECT_EQ(loaded.height, 3);
  EXPECT_EQ(loaded.depth, 0);
  EXPECT_THAT(loaded.warnings, IsEmpty());
  const std::vector<double> colour = {13.0}, sigmas = {1.0, 2.0, 0.5};
  GaussianKernel bilateral = BilateralKernel(4, 3, 3, colours_, 80.0, 80.0, colour, 10.0);
  bilateral.normalisation = KernelNormalisation::kSymmetric;
  ExpectSameModel(loaded.model,
                  DenseCrf(unary_,
                           {PositionKernel(4, 3, 3.0, 2.0, 4.0), bilateral,
                            FeatureKernel(RandomMatrix(12, 3), sigmas, 1.0, "features 1,2,0.5")},
                           PottsLabels(2), PairCounting::kOnce, -2.5));
}

TEST_F(DenseBundleTest, DefaultsAndImagesPerKernel) {
  const LoadedDense loaded = ReadPicture(R"("image": "img.npy", "kernels": [
    {"type": "bilateral", "sigma": 8, "colour_sigma": [1, 2, 3]},
    {"type": "bilateral", "sigma": 8, "colour_sigma": 1, "image": "grey.npy"},
    {"type": "bilateral", "sigma": 8, "colour_sigma": 1, "image": "grey.png"}])");
  const std::vector<double> three = {1, 2, 3}, one = {1};
  ExpectSameModel(loaded.model,
                  DenseCrf(unary_,
                           {BilateralKernel(4, 3, 3, colours_, 8, 8, three, 1),
                            BilateralKernel(4, 3, 1, RandomFloats(12, 9.0F), 8, 8, one, 1),
                            // 257 of 65535 is 1 of 255
                            BilateralKernel(4, 3, 1, std::vector<float>(12, 1.0F), 8, 8, one, 1)},
                           PottsLabels(2), PairCounting::kOrdered, 0.0));
  EXPECT_THAT(ReadPicture(R"("kernels": [])").model.kernels(), IsEmpty());
}

TEST_F(DenseBundleTest, VolumeAndPlainVariables) {
  const LoadedDense volume = Read(R"({"submarine": "dense", "width": 3, "height": 2, "depth": 2,
    "labels": 2, "unary": "vol.npy", "metric": "linear", "image": "vol_img.npy", "kernels": [
    {"type": "position", "sigma": [1, 2, 3]},
    {"type": "bilateral", "sigma": 2, "colour_sigma": 4, "weight": 0.5}]})");
  EXPECT_EQ(volume.depth, 2);
  const std::vector<double> colour = {4.0}, one = {2.0};
  ExpectSameModel(volume.model,
                  DenseCrf(unary_,
                           {PositionKernel(std::array{3, 2, 2}, std::array{1.0, 2.0, 3.0}, 1.0),
                            BilateralKernel(std::array{3, 2, 2}, 1, RandomFloats(12, 9.0F),
                                            std::array{2.0, 2.0, 2.0}, colour, 0.5)},
                           LinearLabels(2)));
  const LoadedDense plain = Read(R"({"submarine": "dense", "variables": 12, "labels": 2,
    "unary": "flat.npy", "metric": "potts",
    "kernels": [{"type": "features", "features": "f.npy", "sigma": 2}]})");
  EXPECT_EQ(plain.width, 0);
  ExpectSameModel(plain.model,
                  DenseCrf(unary_, {FeatureKernel(RandomMatrix(12, 3), one, 1.0, "features 2")},
                           PottsLabels(2)));
}

// Seconds since 1970, metres, nanoseconds: what counts are differences, to the digits of the file.
TEST_F(DenseBundleTest, NumbersFarFromZeroKeepTheirDifferences) {
  const std::vector<double> seconds = {1700000000.0, 1700000090.0, 1700000060.5};
  const std::vector<std::int64_t> nanoseconds = {1700000000000000001, 1700000000000000091,
                                                 1700000000000000061};
  WriteArray(dir_ / "three.npy", std::vector<float>(6, 0.0F), {3, 2});
  WriteArray(dir_ / "s.npy", seconds, {3, 1});
  WriteArray(dir_ / "ns.npy", nanoseconds, {3, 1});
  WriteArray(dir_ / "row_s.npy", seconds, {1, 3});
  WriteArray(dir_ / "row_ns.npy", nanoseconds, {1, 3});
  const auto kernel = [&](const std::string& layout, const std::string& text) {
    return Read(R"({"submarine": "dense", "labels": 2, "unary": "three.npy", "metric": "potts", )" +
                layout + R"(, "kernels": [)" + text + "]}")
        .model.kernels()
        .front();
  };
  for (const char* name : {"s", "ns"}) {
    const GaussianKernel features =
        kernel(R"("variables": 3)", fmt::format(R"({{"type": "features", "sigma": 60,
               "features": "{}.npy"}})",
                                                name));
    EXPECT_DOUBLE_EQ(KernelValue(features, 0, 1), std::exp(-0.5 * 1.5 * 1.5));
    const GaussianKernel colours =
        kernel(R"("width": 3, "height": 1)",
               fmt::format(R"({{"type": "bilateral", "sigma": 1e9, "colour_sigma": 60,
               "image": "row_{}.npy"}})",
                           name));
    EXPECT_DOUBLE_EQ(KernelValue(colours, 0, 1), std::exp(-0.5 * 1.5 * 1.5));
  }
}

TEST_F(DenseBundleTest, UnariesOfAnyTypeAndFlat) {
  const std::string json = R"({"submarine": "dense", "width": 4, "height": 3, "labels": 2,
    "unary": "other.npy", "metric": "potts", "kernels": []})";
  WriteArray(dir_ / "other.npy", Values(unary_), {12, 2});
  EXPECT_EQ(Read(json).model.unary(), unary_);
  std::vector<double> doubles(24, 0.1);
  WriteArray(dir_ / "other.npy", doubles, {3, 4, 2});
  EXPECT_EQ(Read(json).model.unary(), Matrix<float>(12, 2, 0.1F));
  WriteArray(dir_ / "other.npy", std::vector<std::uint8_t>(24, 200), {3, 4, 2});
  EXPECT_EQ(Read(json).model.unary(), Matrix<float>(12, 2, 200.0F));
  doubles[17] = 1e39;
  WriteArray(dir_ / "other.npy", doubles, {3, 4, 2});
  EXPECT_THAT(Refused(json), AllOf(HasSubstr("key \"unary\""), HasSubstr("other.npy"),
                                   HasSubstr("1e+39 at index 17"), HasSubstr("float32")));
  doubles[17] = std::nan("");
  WriteArray(dir_ / "other.npy", doubles, {3, 4, 2});
  EXPECT_THAT(Refused(json), AllOf(HasSubstr("nan at [2, 0, 1]"), HasSubstr("finite")));
  doubles[17] = 1e37;
  WriteArray(dir_ / "other.npy", doubles, {3, 4, 2});
  EXPECT_THAT(MessageOf<InvalidInput>([&] { Read(json); }),
              AllOf(HasSubstr("m.json"), HasSubstr("energies")));
}

TEST_F(DenseBundleTest, HstViolationsWarnOrThrow) {
  WriteArray(dir_ / "u4.npy", RandomFloats(24), {6, 4});
  const std::string json = R"({"submarine": "dense", "variables": 6, "labels": 4,
    "metric": "tree:2x2:1,5", "unary": "u4.npy", "kernels": []})";
  EXPECT_THAT(Read(json).warnings, Not(IsEmpty()));
  EXPECT_THAT(MessageOf<InvalidInput>([&] { Read(json, true); }),
              AllOf(HasSubstr("m.json"), HasSubstr("\"metric\""), HasSubstr("r-HST")));
}

TEST_F(DenseBundleTest, BadHeadersNameFileAndKey) {
  const struct {
    const char* json;
    const char* reason;
  } cases[] = {
      {"[]", "not a bundle of a dense model"},
      {R"({"submarine": "grid"})", "not a bundle of a dense model"},
      {R"({"submarine": "dense", "heigth": 3})", "unknown key \"heigth\""},
      {R"({"submarine": "dense"})", "key \"width\" is missing"},
      {R"({"submarine": "dense", "width": 4})", "key \"height\" is missing"},
      {R"({"submarine": "dense", "width": 4, "height": 3, "depth": 0})", "key \"depth\" must be"},
      {R"({"submarine": "dense", "width": 70000, "height": 70000})", "below 2^31"},
      {R"({"submarine": "dense", "width": 2000, "height": 2000, "depth": 2000})", "below 2^31"},
      {R"({"submarine": "dense", "variables": 4, "width": 4})", "key \"width\" must be left out"},
      {R"({"submarine": "dense", "variables": 4, "image": "img.png"})",
       "key \"image\" must be left out"},
      {R"({"submarine": "dense", "variables": 4, "labels": 1})", "key \"labels\" must be"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "pairs": "twice"})",
       "key \"pairs\" must be \"ordered\" or \"once\""},
      {R"({"submarine": "dense", "variables": 12, "labels": 2})", "key \"kernels\" is missing"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "kernels": {}})",
       "key \"kernels\" must be a list"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "kernels": []})",
       "key \"metric\" is missing"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "kernels": [], "metric": "potts"})",
       "key \"unary\" is missing"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "kernels": [], "metric": "potts",
           "unary": "none.npy"})",
       "No such file"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "kernels": [], "metric": "potts",
           "unary": "u.npy"})",
       "has shape (3, 4, 2), but (variables, labels) = (12, 2) was expected"},
      {R"({"submarine": "dense", "variables": 0, "labels": 2, "kernels": [], "metric": "potts",
           "unary": "u.npy"})",
       "key \"variables\" must be a whole number"},
      {R"({"submarine": "dense", "width": 3, "height": 4, "labels": 2, "kernels": [],
           "metric": "potts", "unary": "u.npy"})",
       "(height, width, labels) = (4, 3, 2) or (variables, labels) = (12, 2) was expected"},
      {R"({"submarine": "dense", "width": 4, "height": 3, "depth": 1, "labels": 2, "kernels": [],
           "metric": "potts", "unary": "u.npy"})",
       "(depth, height, width, labels) = (1, 3, 4, 2) or"},
      {R"({"submarine": "dense", "variables": 12, "labels": 2, "metric": "potts",
           "unary": "flat.npy", "kernels": [{"type": "position", "sigma": 1}]})",
       "kernel 0: key \"type\" must be \"features\" in a model without width and height"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(Refused(bad.json), AllOf(HasSubstr("m.json"), HasSubstr(bad.reason))) << bad.json;
  }
  EXPECT_THROW(ReadDenseBundle(dir_ / "none.json"), FileError);
  EXPECT_THROW(ReadDenseBundle(dir_.path()), FileError);
}

TEST_F(DenseBundleTest, BadKernelsAreNumberedAndNamed) {
  WriteArray(dir_ / "many.npy", std::vector<float>(12 * 15), {3, 4, 15});
  WriteArray(dir_ / "nan.npy", std::vector<float>(12, std::nanf("")), {3, 4});
  WriteArray(dir_ / "f17.npy", std::vector<float>(12 * 17), {12, 17});
  dir_.WriteText("text.png", "no picture at all");
  dir_.WriteText("tiny", "P2");
  const struct {
    const char* kernel;
    const char* reason;
  } cases[] = {
      {"5", "key \"type\" must be"},
      {"{}", "key \"type\" must be"},
      {R"({"type": "lattice"})", "key \"type\" must be"},
      {R"({"type": ["position"]})", "key \"type\" must be"},
      {R"({"type": "position"})", "key \"sigma\" is missing"},
      {R"({"type": "position", "sigma": 0})", "key \"sigma\" must be a number > 0"},
      {R"({"type": "position", "sigma": -1})", "key \"sigma\" must be a number > 0"},
      {R"({"type": "position", "sigma": []})", "key \"sigma\" must be a number > 0"},
      {R"({"type": "position", "sigma": [1, "2"]})", "key \"sigma\" must be a finite number or"},
      {R"({"type": "position", "sigma": "3"})", "key \"sigma\" must be a finite number"},
      {R"({"type": "position", "sigma": [1, 2, 3]})", "3 sigmas were given"},
      {R"({"type": "position", "sigma": 1e-46})", "feature 0 reaches 3e+46 times its sigma 1e-46"},
      {R"({"type": "position", "sigma": 1, "weight": -1})", "key \"weight\" must not be negative"},
      {R"({"type": "position", "sigma": 1, "colour_sigma": 1})", "unknown key \"colour_sigma\""},
      {R"({"type": "position", "sigma": 1, "normalisation": "after"})",
       "key \"normalisation\" must be \"none\" or \"symmetric\""},
      {R"({"type": "bilateral", "sigma": 1})", "key \"colour_sigma\" is missing"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 0})", "key \"colour_sigma\" must be"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1})", "key \"image\" is missing"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": [1, 2], "image": "img.png"})",
       "sigma_colour has 2 numbers"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "none.png"})",
       "No such file"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "text.png"})",
       "begins with \"no pictu\""},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "tiny"})", "was expected"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "vol_img.npy"})",
       "has shape (2, 2, 3), but (height, width) = (3, 4)"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "many.npy"})",
       "has 15 channels, but 1 to 14 were expected"},
      {R"({"type": "bilateral", "sigma": 1, "colour_sigma": 1, "image": "nan.npy"})",
       "nan at [0, 0], but colours must be finite"},
      {R"({"type": "features", "sigma": 1})", "key \"features\" is missing"},
      {R"({"type": "features", "sigma": 1, "features": "u.npy"})", "(12, 1 to 16) was expected"},
      {R"({"type": "features", "sigma": 1, "features": "f17.npy"})", "(12, 1 to 16) was expected"},
      {R"({"type": "features", "sigma": [1, 2], "features": "f.npy"})", "2 sigmas were given"},
  };
  for (const auto& bad : cases) {
    const std::string json =
        kPicture + R"("kernels": [{"type": "position", "sigma": 1}, )" + bad.kernel + "]}";
    const std::string message = Refused(json);
    // A picture for all kernels is a key of the header itself.
    EXPECT_THAT(message, AllOf(HasSubstr("m.json: "), HasSubstr(bad.reason))) << bad.kernel;
    if (std::string_view(bad.reason) != "key \"image\" is missing") {
      EXPECT_THAT(message, HasSubstr("m.json: kernel 1: ")) << bad.kernel;
    }
  }
  WritePng(dir_ / "other.png", 6, 2, 3, bytes_);
  EXPECT_THAT(Refused(kPicture + R"("image": "other.png", "kernels": [
      {"type": "bilateral", "sigma": 1, "colour_sigma": 1}]})"),
              AllOf(HasSubstr("m.json: key \"image\""), HasSubstr("6 x 2"), HasSubstr("4 x 3")));
  EXPECT_THAT(Refused(R"({"submarine": "dense", "width": 3, "height": 2, "depth": 2, "labels": 2,
      "unary": "vol.npy", "metric": "potts", "image": "img.png", "kernels": [
      {"type": "bilateral", "sigma": 1, "colour_sigma": 1}]})"),
              HasSubstr("is not an .npy array, which a volume needs"));
  std::string many = kPicture + "\"kernels\": [0";
  for (int k = 0; k < 64; ++k) many += ", 0";
  EXPECT_THAT(Refused(many + "]}"), HasSubstr("at most 64 kernels"));
}

TEST_F(DenseBundleTest, KindsAreTold) {
  EXPECT_EQ(ReadBundleKind(dir_.WriteText("k.json", R"({"submarine": "dense"})")), "dense");
  EXPECT_EQ(ReadBundleKind(dir_.WriteText("k.json", R"({"submarine": "grid"})")), "grid");
  EXPECT_THROW(ReadBundleKind(dir_.WriteText("k.json", "{}")), FileError);
  EXPECT_THROW(ReadBundleKind(dir_.WriteText("k.json", "[1]")), FileError);
}

DenseSpec PictureSpec() {
  DenseSpec spec{.width = 4, .height = 3, .unary = RandomMatrix(12, 3), .metric = "truncated:2"};
  spec.counting = PairCounting::kOnce;
  spec.constant = 1.0 / 3.0;
  spec.channels = 2;
  spec.image = RandomFloats(24, 255.0F);
  spec.kernels = {{.type = DenseKernelType::kPosition, .sigma = {0.1, 0.3}, .weight = 3.0},
                  {.type = DenseKernelType::kBilateral,
                   .sigma = {80.0},
                   .colour_sigma = {13.0, 1.0 / 7.0},
                   .weight = 10.0,
                   .normalisation = KernelNormalisation::kSymmetric},
                  {.type = DenseKernelType::kFeatures,
                   .sigma = {0.7},
                   .features = RandomMatrix<double>(12, 5)}};
  return spec;
}

TEST_F(DenseBundleTest, WritesWhatItReads) {
  const DenseSpec picture = PictureSpec();
  WriteDenseBundle(dir_ / "w.json", picture);
  const LoadedDense loaded = ReadDenseBundle(dir_ / "w.json");
  EXPECT_EQ(loaded.width, 4);
  EXPECT_EQ(loaded.height, 3);
  EXPECT_EQ(loaded.model.kernels()[1].normalisation, KernelNormalisation::kSymmetric);
  ExpectSameModel(loaded.model, BuildDenseCrf(picture));
  EXPECT_EQ(loaded.model.kernels().size(), 3u);
  EXPECT_EQ(ReadBundleKind(dir_ / "w.json"), "dense");

  DenseSpec volume{.width = 3, .height = 2, .depth = 2, .unary = RandomMatrix(12, 2)};
  volume.channels = 1;
  volume.image = RandomFloats(12);
  volume.kernels = {
      {.type = DenseKernelType::kBilateral, .sigma = {1, 2, 3}, .colour_sigma = {2.0}}};
  WriteDenseBundle(dir_ / "w.json", volume);
  EXPECT_EQ(ReadDenseBundle(dir_ / "w.json").depth, 2);
  ExpectSameModel(ReadDenseBundle(dir_ / "w.json").model, BuildDenseCrf(volume));

  DenseSpec plain{.unary = RandomMatrix(5, 2)};
  plain.kernels = {{.type = DenseKernelType::kFeatures,
                    .sigma = {1, 2},
                    .features = RandomMatrix<double>(5, 2)}};
  WriteDenseBundle(dir_ / "w.json", plain);
  ExpectSameModel(ReadDenseBundle(dir_ / "w.json").model, BuildDenseCrf(plain));
}

TEST_F(DenseBundleTest, WriterRefusesWhatIsNoModel) {
  const int before = dir_.NumFiles();
  const auto message = [&](auto change) {
    DenseSpec spec = PictureSpec();
    change(spec);
    return MessageOf<InvalidInput>([&] { WriteDenseBundle(dir_ / "w.json", spec); });
  };
  EXPECT_THAT(message([](DenseSpec& s) { s.height = 0; }), HasSubstr("width 4, height 0"));
  EXPECT_THAT(message([](DenseSpec& s) { s.unary = RandomMatrix(10, 3); }), HasSubstr("12"));
  EXPECT_THAT(message([](DenseSpec& s) {
                s.unary = RandomMatrix(10, 3);
                s.kernels.clear();
              }),
              HasSubstr("10 variables cannot be laid out as (3, 4)"));
  EXPECT_THAT(message([](DenseSpec& s) { s.metric = "pots"; }), HasSubstr("is not a label metric"));
  EXPECT_THAT(message([](DenseSpec& s) { s.channels = 0; }), HasSubstr("kernel 1: "));
  EXPECT_THAT(message([](DenseSpec& s) { s.channels = 3; }), HasSubstr("24 samples"));
  EXPECT_THAT(message([](DenseSpec& s) { s.kernels[0].sigma = {}; }),
              HasSubstr("0 sigmas were given for 2 axes"));
  EXPECT_THAT(message([](DenseSpec& s) { s.kernels[0].sigma = {-1}; }), HasSubstr("sigma_x is -1"));
  EXPECT_THAT(message([](DenseSpec& s) { s.width = s.height = 0; }),
              HasSubstr("kernel 0: kernels of positions need"));
  EXPECT_THAT(
      message([](DenseSpec& s) { s.kernels[2].normalisation = KernelNormalisation::kAfter; }),
      HasSubstr("kernel 2: the normalisation must be none or symmetric"));
  EXPECT_EQ(dir_.NumFiles(), before);
  EXPECT_THROW(WriteDenseBundle(dir_ / "no/w.json", PictureSpec()), FileError);
}

TEST_F(DenseBundleTest, DamagedFilesNeverDoMoreThanThrow) {
  WriteDenseBundle(dir_ / "w.json", PictureSpec());
  std::mt19937_64 random(21);
  int accepted = 0, refused = 0;
  for (const char* name : {"w.json", "w.unary.npy", "w.image.npy", "w.features2.npy"}) {
    const std::string whole = dir_.Text(name);
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      for (std::uint64_t k = 0; k <= random() % 3; ++k) {
        const bool text = std::string_view(name) == "w.json";
        bytes[random() % bytes.size()] =
            text ? "0123456789-.e\"[]{},: "[random() % 21] : static_cast<char>(random() % 256);
      }
      dir_.WriteText(name, bytes);
      try {
        const LoadedDense loaded = ReadDenseBundle(dir_ / "w.json");
        for (const GaussianKernel& kernel : loaded.model.kernels())
          EXPECT_TRUE(std::isfinite(kernel.weight * KernelValue(kernel, 0, 11)));
        ++accepted;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("w.json")) << bytes;
        ++refused;
      }
    }
    dir_.WriteText(name, whole);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace submarine::internal
