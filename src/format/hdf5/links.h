#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/hdf5/object_header.h"

namespace forebay {

/// A member of a group.
struct Hdf5Link {
  enum class Kind : uint8_t { kHard, kSoft, kExternal, kOther };
  std::string name;
  Kind kind = Kind::kHard;
  uint64_t address = kHdf5Nowhere;  ///< of a hard one: the header of what it names
  std::string target;               ///< of a soft one: a path; of an external one: file and path, for messages
};

/// Of a group, in any order. Empty where the object is no group.
Result<std::vector<Hdf5Link>> hdf5_links(Hdf5Metadata& file, const Hdf5Header& group);

/// An object, found.
struct Hdf5Object {
  uint64_t address = kHdf5Nowhere;
  Hdf5Header header;
};

/// By its path from the root ("/building1/elec/meter1"); links within the file are followed, not in circles. NotFound with the nearest name that
/// exists; Unsupported for what lies in another file, which is never opened.
Result<Hdf5Object> find_hdf5_object(Hdf5Metadata& file, std::string_view path);

/// Paths of all data sets, for messages: at most `most`.
std::vector<std::string> hdf5_data_sets(Hdf5Metadata& file, size_t most);

}  // namespace forebay
