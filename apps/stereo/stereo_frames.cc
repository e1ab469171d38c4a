#include "apps/stereo/stereo_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "apps/cli/file_checks.h"
#include "apps/cli/messages.h"
#include "apps/cli/picture_files.h"
#include "apps/cli/terminal.h"
#include "apps/solve/solve_output.h"
#include "apps/stereo/stereo.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/base/version.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/image/png.h"
#include "submarine/stereo/disparity.h"

namespace submarine::apps {
namespace fs = std::filesystem;
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;

using Json = nlohmann::ordered_json;

constexpr double kFactorOfFrames = 256.0;

struct Frame {
  std::string left;
  std::string right;
  std::string name;
};

// The last number in a name, which counts frames; empty if there is none.
std::string NumberIn(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto end = std::find_if(stem.rbegin(), stem.rend(), digit).base();
  auto begin = end;
  while (begin != stem.begin() && digit(*(begin - 1))) --begin;
  while (end - begin > 1 && *begin == '0') ++begin;
  return {begin, end};
}

std::vector<Frame> FramesOf(const std::string& left, const std::string& right) {
  for (const std::string& directory : {left, right}) {
    if (!IsDirectory(directory)) {
      throw InvalidInput(
          fmt::format("\"{}\" is not a directory, expected one of frames", directory));
    }
  }
  const std::vector<std::string> lefts = PicturesIn(left);
  const std::vector<std::string> rights = PicturesIn(right);
  if (lefts.size() != rights.size()) {
    throw InvalidInput(fmt::format("\"{}\" holds {} frames, but \"{}\" holds {}", left,
                                   lefts.size(), right, rights.size()));
  }
  std::vector<Frame> frames;
  std::set<std::string> names;
  for (std::size_t k = 0; k < lefts.size(); ++k) {
    if (NumberIn(lefts[k]) != NumberIn(rights[k])) {
      throw InvalidInput(fmt::format(
          "in the order of names \"{}\" would pair up with \"{}\", whose number is another",
          lefts[k], rights[k]));
    }
    frames.push_back({lefts[k], rights[k], fs::path(lefts[k]).stem().string()});
    if (!names.insert(frames.back().name).second) {
      throw InvalidInput(
          fmt::format("two frames are called \"{}\", expected names that tell their results apart",
                      frames.back().name));
    }
  }
  return frames;
}

class Frames {
 public:
  Frames(const FrameSettings& settings, std::vector<Frame> frames, fs::path directory)
      : settings_(settings),
        frames_(std::move(frames)),
        directory_(std::move(directory)),
        line_(settings.quiet) {
    const int cores = settings.threads > 0
                          ? settings.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    workers_ = std::min(cores, static_cast<int>(frames_.size()));
    settings_.matching.limits.threads = std::max(1, cores / workers_);
    std::size_t& bytes = settings_.matching.limits.max_bytes;
    if (bytes == 0) bytes = DefaultMemory();
    bytes /= static_cast<std::size_t>(workers_);
  }

  void Run() {
    Settle();
    MakeDirectories();
    line_.Show(fmt::format("{} frames", frames_.size()));
    {
      std::vector<std::jthread> threads;
      for (int k = 0; k < workers_; ++k) threads.emplace_back([this] { Work(); });
    }
    line_.Clear();
    Conclude();
  }

 private:
  StereoPair Read(const Frame& frame) const {
    SolveOptions solve;
    solve.limits = settings_.matching.limits;
    const ReadingLimits limits(solve, clock_, 2.0 * sizeof(float), settings_.shrink);
    return ReadStereoPair(frame.left, frame.right, settings_.shrink, limits);
  }

  // All frames have the same number of disparities.
  void Settle() {
    request_ = {{"version", kVersion},
                {"disparities", settings_.matching.disparities},
                {"shrink", settings_.shrink},
                {"fast", settings_.matching.fast}};
    if (settings_.matching.disparities > 0) return;
    int& most = settings_.matching.disparities;
    for (const std::size_t k : {std::size_t{0}, frames_.size() / 2, frames_.size() - 1}) {
      const StereoPair pair = Read(frames_[k]);
      most = std::max(most, GuessDisparities(pair.LeftView(), pair.RightView()));
    }
    request_["disparities"] = most;
  }

  std::vector<const char*> Folders() const {
    std::vector<const char*> folders = {"occluded"};
    if (!settings_.matching.fast) folders.push_back("uncertainty");
    folders.push_back("disparity");  // written last
    return folders;
  }

  fs::path File(const char* folder, const Frame& frame) const {
    return directory_ / folder / (frame.name + ".png");
  }

  void MakeDirectories() {
    for (const char* folder : Folders()) {
      std::error_code error;
      fs::create_directories(directory_ / folder, error);
      if (error) {
        throw FileError(
            fmt::format("{}: cannot be made: {}", (directory_ / folder).string(), error.message()));
      }
    }
    const fs::path file = directory_ / "frames.json";
    try {
      if (Exists(file))
        continues_ = Json::parse(internal::ReadWholeFile(file))["request"] == request_;
    } catch (const std::exception&) {  // of something else
    }
    if (!continues_) internal::WriteFileAtomically(file, JsonText({{"request", request_}}));
  }

  bool IsDone(const Frame& frame) const {
    std::error_code error;
    const auto made = fs::last_write_time(File("disparity", frame), error);
    if (error) return false;
    const bool later =
        made >= fs::last_write_time(frame.left) && made >= fs::last_write_time(frame.right);
    return continues_ && later;
  }

  void Work() {
    const ThreadLimit limit(settings_.matching.limits.threads);
    for (std::size_t k = next_++; k < frames_.size() && !Interrupted(); k = next_++) {
      const std::string problem = IsDone(frames_[k]) ? Keep() : RunOne(frames_[k]);
      const std::lock_guard lock(mutex_);
      ++done_;
      if (!problem.empty()) {
        ++failed_;
        line_.Clear();
        PrintError(fmt::format("{}: {}", frames_[k].left, problem));
      }
      line_.Show(fmt::format("{} of {} frames", done_, frames_.size()));
    }
  }

  std::string Keep() {
    ++kept_;
    return "";
  }

  // What went wrong, which does not affect other frames; empty: nothing.
  std::string RunOne(const Frame& frame) const {
    try {
      const StereoPair pair = Read(frame);
      Write(frame, pair, MatchStereo(pair.LeftView(), pair.RightView(), settings_.matching));
    } catch (const std::bad_alloc&) {
      return "there is not enough memory for it";
    } catch (const TooLarge& error) {
      return WithShownNames(InOptions(error, settings_.shrink));
    } catch (const std::exception& error) {
      return WithShownNames(error.what());
    }
    return "";
  }

  void Write(const Frame& frame, const StereoPair& pair, const StereoMatch& match) const {
    const auto bytes = [](const auto& values, float scale) {
      std::vector<std::uint8_t> samples(values.size());
      std::transform(values.begin(), values.end(), samples.begin(), [scale](auto value) {
        return static_cast<std::uint8_t>(std::lround(scale * static_cast<float>(value)));
      });
      return samples;
    };
    WritePng(File("occluded", frame), pair.width, pair.height, 1, bytes(match.occluded, 255.0F));
    if (!settings_.matching.fast) {
      WritePng(File("uncertainty", frame), pair.width, pair.height, 1,
               bytes(match.uncertainty, 255.0F));
    }
    std::vector<std::uint16_t> samples(match.disparities.size());
    std::transform(match.disparities.begin(), match.disparities.end(), samples.begin(),
                   [](float d) {
                     return static_cast<std::uint16_t>(
                         std::clamp(std::lround(kFactorOfFrames * d), 0L, 65535L));
                   });
    WritePng16(File("disparity", frame), pair.width, pair.height, samples);
  }

  void Conclude() const {
    const double seconds = clock_.Seconds();
    const std::size_t matched = done_ - failed_ - kept_;
    // Of this run: those that were there already were made at a speed that is not known.
    const double rate = static_cast<double>(matched) / seconds;
    Json summary = {{"request", request_},      {"frames", frames_.size()}, {"failed", failed_},
                    {"matched", matched},       {"kept", kept_.load()},     {"seconds", seconds},
                    {"frames_per_second", rate}};
    internal::WriteFileAtomically(directory_ / "frames.json", JsonText(summary));
    if (!settings_.quiet) {
      std::string text =
          fmt::format("{} frames of {} disparities", matched, settings_.matching.disparities);
      if (matched > 0)
        text += fmt::format(" in {}, {:.1f} frames per second", DurationText(seconds), rate);
      if (kept_ > 0) text += fmt::format("; {} were there already", kept_.load());
      PrintLine(fmt::format("{}: {}", text, directory_.string()));
    }
    if (done_ < frames_.size()) {
      throw submarine::Interrupted(fmt::format(
          "interrupted: {} of {} frames are missing; run the same command again to continue",
          frames_.size() - done_, frames_.size()));
    }
    if (failed_ > 0) {
      throw InvalidInput(fmt::format("{} of {} frames could not be matched; the others are in {}",
                                     failed_, frames_.size(), directory_.string()));
    }
  }

  FrameSettings settings_;
  const std::vector<Frame> frames_;
  const fs::path directory_;
  const Stopwatch clock_;
  Json request_;
  bool continues_ = false;  // what a run with the same settings has left
  int workers_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> kept_ = 0;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  ProgressLine line_;
};

}  // namespace

void RunStereoFrames(const FrameSettings& settings, const std::string& left,
                     const std::string& right, const std::string& directory) {
  Frames(settings, FramesOf(left, right), directory).Run();
}

}  // namespace submarine::apps
