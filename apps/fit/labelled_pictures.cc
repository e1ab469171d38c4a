#include "apps/fit/labelled_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "apps/cli/file_checks.h"
#include "apps/fit/content_hash.h"
#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/image/image.h"
#include "submarine/io/segmentation/softmax_file.h"

namespace submarine::apps {
namespace {

constexpr std::string_view kSoftmaxEnding = ".softmax.npy";
constexpr std::string_view kPictureEndings[] = {".png", ".jpg",  ".jpeg", ".bmp",
                                                ".tif", ".tiff", ".ppm",  ".pgm"};

// Named after the softmax, since a picture may have several.
std::string NameOf(const std::filesystem::path& softmax) {
  const std::string file = softmax.filename().string();
  return file.ends_with(kSoftmaxEnding) ? file.substr(0, file.size() - kSoftmaxEnding.size())
                                        : softmax.stem().string();
}

LabelledFiles FilesBeside(const std::filesystem::path& softmax) {
  LabelledFiles files;
  files.name = NameOf(softmax);
  files.softmax = softmax;
  files.labels = softmax.parent_path() / (files.name + ".labels.png");
  for (const std::string_view ending : kPictureEndings) {
    const auto picture = softmax.parent_path() / (files.name + std::string(ending));
    if (files.picture.empty() && Exists(picture)) files.picture = picture;
  }
  if (files.picture.empty()) {
    throw InvalidInput(fmt::format(
        "{} has no picture beside it, expected {}.png (or jpg, jpeg, bmp, tif, tiff, ppm, pgm)",
        softmax.string(), files.name));
  }
  if (!Exists(files.labels)) {
    throw InvalidInput(fmt::format("{} has no true labels beside it, expected {}", softmax.string(),
                                   files.labels.filename().string()));
  }
  return files;
}

std::vector<LabelledFiles> FilesOfDirectory(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> softmaxes;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() > kSoftmaxEnding.size() && name.ends_with(kSoftmaxEnding))
      softmaxes.push_back(at->path());
  }
  if (error)
    throw FileError(fmt::format("cannot read {}: {}", directory.string(), error.message()));
  if (softmaxes.empty()) {
    throw InvalidInput(
        fmt::format("{} has no picture with a softmax, expected X.png, X.softmax.npy and "
                    "X.labels.png for every picture X",
                    directory.string()));
  }
  std::sort(softmaxes.begin(), softmaxes.end());
  std::vector<LabelledFiles> found;
  found.reserve(softmaxes.size());
  for (const auto& softmax : softmaxes) found.push_back(FilesBeside(softmax));
  return found;
}

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<LabelledFiles> FilesOfList(const std::filesystem::path& list) {
  const std::string text = internal::ReadTextFile(list);
  std::vector<LabelledFiles> found;
  int number = 0;
  for (std::string line : Split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> fields = Split(line, '\t');
    if (fields.size() != 3 ||
        std::any_of(fields.begin(), fields.end(), [](const std::string& f) { return f.empty(); })) {
      throw FileError(fmt::format(
          "{}:{}: expected three files separated by tabs: picture, softmax, true labels",
          list.string(), number));
    }
    const std::filesystem::path directory = list.parent_path();
    found.push_back(
        {NameOf(fields[1]), directory / fields[0], directory / fields[1], directory / fields[2]});
  }
  if (found.empty()) {
    throw InvalidInput(
        fmt::format("{} names no picture, expected a line with picture, softmax and "
                    "true labels for each",
                    list.string()));
  }
  return found;
}

}  // namespace

std::vector<LabelledFiles> FindLabelledPictures(const std::vector<std::string>& inputs) {
  std::vector<LabelledFiles> found;
  std::set<std::string> names;
  for (const std::string& input : inputs) {
    for (LabelledFiles& files : IsDirectory(input) ? FilesOfDirectory(input) : FilesOfList(input)) {
      if (!names.insert(files.name).second) {
        throw InvalidInput(fmt::format(
            "two softmaxes are called \"{}\", expected names that tell them apart", files.name));
      }
      found.push_back(std::move(files));
    }
  }
  return found;
}

LabelledPicture ReadLabelledPicture(const LabelledFiles& files, int unknown) {
  const Image image = ReadImage(files.picture);
  const ImageSize size{image.width, image.height};
  LabelledPicture picture{.name = files.name,
                          .width = image.width,
                          .height = image.height,
                          .channels = image.channels,
                          .samples = ColourValues(image),
                          .softmax = internal::ReadSoftmax(files.softmax, size).rows};
  picture.truth = internal::LabelsFromImage(ReadLabelImage(files.labels, {.expected = size}),
                                            picture.num_labels(), unknown, files.labels);
  const int shape[] = {image.width, image.height, picture.num_labels()};
  picture.contents = ContentHash(std::span<const int>(shape));
  picture.contents = ContentHash(std::span<const float>(picture.samples), picture.contents);
  picture.contents = ContentHash(
      std::span<const float>(picture.softmax.data(), picture.softmax.size()), picture.contents);
  picture.contents = ContentHash(std::span<const int>(picture.truth), picture.contents);
  return picture;
}

void RequireSameLabels(const LabelledPicture& first, const LabelledPicture& other) {
  if (first.num_labels() != other.num_labels()) {
    throw InvalidInput(fmt::format("the softmax of {} has {} labels, that of {} has {}", other.name,
                                   other.num_labels(), first.name, first.num_labels()));
  }
}

}  // namespace submarine::apps
