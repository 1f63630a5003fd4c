#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace forebay {

/// Slot of a loader in a rendezvous folder. The loaders of a program that are open at the same time
/// (training, validation) may share one folder: the n-th open loader of a process connects to the
/// n-th of the others. So all ranks must open their loaders in the same order.
struct MeetingSlot {
  int number = 0;
  std::shared_ptr<const void> held;  ///< reserves the number until it is destroyed
};

/// Reserves the lowest number that no other loader of this process and rank holds in that folder.
/// Thread-safe.
MeetingSlot reserve_meeting(const std::string& folder, int rank, uint64_t generation);

}  // namespace forebay
