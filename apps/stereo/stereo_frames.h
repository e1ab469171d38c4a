// Many pairs: the frames of a video.
#pragma once

#include <string>

#include "submarine/stereo/match/match_stereo.h"

namespace submarine::apps {

struct FrameSettings {
  StereoMatchOptions matching;  // disparities 0: of the first, middle and last frame
  int shrink = 1;
  int threads = 0;
  bool quiet = false;
};

// Pairs of frames in the order of their names, into DIRECTORY/disparity/NAME.png (256 times the disparity, in
// 16 bits), occluded/NAME.png and, unless fast, uncertainty/NAME.png, NAME that of the left frame;
// DIRECTORY/frames.json says how. Frames that a run with the same settings has written are left as they are.
// Throws InvalidInput where frames do not pair up, and at the end where some could not be matched; Interrupted.
void RunStereoFrames(const FrameSettings& settings, const std::string& left,
                     const std::string& right, const std::string& directory);

}  // namespace submarine::apps
