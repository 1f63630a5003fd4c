#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace forebay {

/// Number of the meeting that a loader joins. The loaders of a program that are open at the same
/// time (training, validation) may all meet in one folder: the n-th open loader of a process meets
/// the n-th of the others. So all ranks must open their loaders in the same order.
struct MeetingSlot {
  int number = 0;
  std::shared_ptr<const void> held;  ///< reserves the number until it is destroyed
};

/// Returns the lowest number that no other loader of this process and rank holds there.
/// Thread-safe.
MeetingSlot reserve_meeting(const std::string& folder, int rank, uint64_t generation);

}  // namespace forebay
