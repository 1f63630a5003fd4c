#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// Objects that a data set contains and that are not read. This is not an error: all other samples
/// are delivered.
struct DataWarning {
  std::string kind;     ///< cause, a fixed text: "unread_files", "dead_links", …
  int64_t count = 0;    ///< number of objects, or parts of objects, concerned
  std::string first;    ///< name of the first of them in byte order
  std::string message;  ///< one sentence with the count, that name, and what to do
};

}  // namespace forebay
