#pragma once

#include <cstddef>
#include <cstdint>
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
  uint64_t address = kHdf5NoAddress;  ///< for a hard link: address of the target's header
  std::string target;                 ///< path of a soft link; file and path of an external link
};

/// The members of a group, in any order. Empty if the object is not a group. Corrupt if the group
/// is damaged; Unsupported for more than a million members.
Result<std::vector<Hdf5Link>> hdf5_links(Hdf5Metadata& file, const Hdf5Header& group);

/// An object that a path leads to.
struct Hdf5Object {
  uint64_t address = kHdf5NoAddress;
  Hdf5Header header;
};

/// Finds an object by its path from the root, such as "/building1/elec/meter1". Follows links
/// within the file, but not in circles. NotFound, with the nearest existing name, if there is none.
/// Unsupported for an object in another file; other files are never opened.
Result<Hdf5Object> find_hdf5_object(Hdf5Metadata& file, std::string_view path);

/// Paths of at most `most` data sets of the file, for messages.
std::vector<std::string> hdf5_data_sets(Hdf5Metadata& file, size_t most);

}  // namespace forebay
