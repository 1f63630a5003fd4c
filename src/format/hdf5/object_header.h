#pragma once

#include <cstdint>
#include <vector>

#include "format/hdf5/file_bytes.h"

namespace forebay {

/// Types of messages in an object's header (section IV.A.2 of the specification).
enum class Hdf5MessageType : uint16_t {
  kSpace = 0x01,          ///< dataspace
  kLinks = 0x02,          ///< link info: where the links of a group are, if it has many
  kType = 0x03,           ///< datatype
  kOldFill = 0x04,        ///< fill value (old)
  kFill = 0x05,           ///< fill value
  kLink = 0x06,           ///< one link of a group
  kExternalFiles = 0x07,  ///< external data files
  kLayout = 0x08,         ///< data layout
  kFilters = 0x0b,        ///< filter pipeline
  kAttribute = 0x0c,      ///< one attribute
  kContinuation = 0x10,   ///< object header continuation
  kSymbolTable = 0x11,    ///< the links of a group in old files
  kAttributes = 0x15,     ///< attribute info: where the attributes are, if there are many
};

/// One message of a header.
struct Hdf5Message {
  uint16_t type = 0;  ///< a Hdf5MessageType, or a type that is not read
  Buffer bytes;
};

/// The header of a group or data set as a list of messages. Shared messages have been replaced by
/// their contents.
struct Hdf5Header {
  std::vector<Hdf5Message> messages;
  /// The first message of this type; null if there is none.
  const Hdf5Message* find(Hdf5MessageType type) const;
};

/// Reads the header at `address` and its continuation blocks. Corrupt if it is damaged; Unsupported
/// if a message is in a heap that objects share.
Result<Hdf5Header> read_hdf5_header(Hdf5Metadata& file, uint64_t address);
/// Resolves the bytes of a message that may be a reference to another object header.
/// Corrupt if the reference is damaged; Unsupported if it leads to a heap that objects share.
Result<Buffer> hdf5_shared_message(Hdf5Metadata& file, Hdf5MessageType type, const Buffer& bytes);

}  // namespace forebay
