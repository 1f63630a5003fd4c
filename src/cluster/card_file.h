#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <optional>
#include <string>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Maximum size of the file of a host card.
inline constexpr size_t kMaxCardBytes = 1024;

/// A file of a folder in which the hosts of a job meet.
struct CardFile {
  std::string text;
  timespec written{};  ///< by the file system's clock: hosts' own clocks differ
};

/// Reads a card file. Returns nothing if it does not exist yet. InvalidArgument if it belongs to
/// another user than `owner`.
Result<std::optional<CardFile>> read_card_file(const std::string& path, uid_t owner);

/// Writes a card file. It appears complete or not at all, even after a crash.
Status write_card_file(const std::string& path, const std::string& text);

/// Unavailable, for the call that has just set errno. `what` is a verb: "read".
Status card_file_failure(const std::string& path, const char* what);

}  // namespace forebay
