#pragma once

#include <vector>

#include "format/hdf5/file_bytes.h"

namespace forebay {

/// Kinds of messages in an object's header.
enum class Hdf5MessageType : uint16_t {
  kSpace = 0x01,
  kLinks = 0x02,
  kType = 0x03,
  kOldFill = 0x04,
  kFill = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributes = 0x15,
};

/// One message of a header: its kind (Hdf5Part) and its bytes.
struct Hdf5Message {
  uint16_t part = 0;
  Buffer bytes;
};

/// The header of a group or data set as a list of messages. Shared messages have been replaced by
/// their contents.
struct Hdf5Header {
  std::vector<Hdf5Message> messages;
  /// The first message of this kind; null if there is none.
  const Hdf5Message* find(Hdf5MessageType part) const;
};

Result<Hdf5Header> read_hdf5_header(Hdf5Metadata& file, uint64_t address);
/// Resolves the bytes of a message that may be a reference to another object header.
Result<Buffer> hdf5_shared_message(Hdf5Metadata& file, Hdf5MessageType part, const Buffer& bytes);

}  // namespace forebay
