#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// Something that opening a data set found and did not read. Not an error: the samples that were found are delivered.
struct DataWarning {
  std::string kind;     ///< "unread_files", "dead_links", …: the same text for the same cause
  int64_t count = 0;    ///< objects, or parts of objects, that it concerns
  std::string first;    ///< the name of the first of them in byte order
  std::string message;  ///< one sentence with the count, that name, and what to do
};

}  // namespace forebay
