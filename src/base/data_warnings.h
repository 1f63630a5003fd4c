#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "forebay/data_warning.h"

namespace forebay {

/// A reason to leave objects out of a data set, with its text. The file that leaves them out
/// declares it as a constant.
struct OmissionReason {
  std::string_view kind;    ///< DataWarning::kind
  std::string_view one;     ///< completes "1 …": "file looks like data and was not read"
  std::string_view many;    ///< completes "3 …": "files look like data and were not read"
  std::string_view remedy;  ///< what to do, as the end of the sentence
};

/// Collects warnings about objects that are left out while a data set is opened. The caller that
/// opens it owns the object; formats get a pointer, which may be null. Methods may be called from
/// any thread.
class DataWarnings {
 public:
  /// Counts `count` objects, of which `name` is the first in byte order.
  void add(const OmissionReason& kind, std::string_view name, int64_t count = 1);
  /// One warning for each kind, sorted by kind, so that the same data gives the same list.
  std::vector<DataWarning> list() const;

 private:
  struct Entry {
    OmissionReason kind;
    int64_t count = 0;
    std::string first;
  };
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
