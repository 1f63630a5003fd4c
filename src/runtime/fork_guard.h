#pragma once

#include <cstdint>

namespace forebay {

/// Counts how often this process is the child of a fork. Threads and locks do not survive a fork, so whatever owns them
/// remembers the generation it was made in and refuses to work (and to join) in another one.
uint64_t process_generation();

}  // namespace forebay
