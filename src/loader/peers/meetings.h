#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace forebay {

/// Which meeting a loader goes to. A program that has several loaders open at once (training, validation) may have all of them meet in one folder: the n-th that is
/// open in a process meets the n-th of the others, so ranks have to open them in the same order.
struct MeetingPlace {
  int number = 0;
  std::shared_ptr<const void> held;  ///< until this goes the number is taken
};

/// The lowest number that no other loader of this process and rank has there. From any thread.
MeetingPlace take_meeting(const std::string& folder, int rank, uint64_t generation);

}  // namespace forebay
