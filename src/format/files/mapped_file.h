#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// A file mapped into memory, read-only. If the file is truncated later, read() and check_length()
/// return errors that name it. Touching `data()` outside read() may then end the process by SIGBUS.
/// Any number of threads may use it.
///
/// The class installs a SIGBUS handler for the process, which passes signals from other memory to
/// the previous handler.
class MappedFile {
 public:
  /// Maps a file. Corrupt if it is empty.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Version of the file as it was when it was opened (version_of_file).
  uint64_t version() const { return version_; }

  /// Calls `touch`, which may read the mapping. If the file no longer has a page that it touches,
  /// `touch` is abandoned in the middle, so nothing in it may need a destructor. Bytes of the last
  /// page beyond the new end read as zeros; only check_length() detects that.
  template <typename Touch>
  Status read(Touch touch) const {
    return read_with([](void* given) { (*static_cast<Touch*>(given))(); }, &touch);
  }
  /// Checks that the file still has its length at opening.
  Status check_length() const;

 private:
  MappedFile(std::string path, FileDescriptor file, const uint8_t* data, uint64_t size, uint64_t version)
      : path_(std::move(path)), file_(std::move(file)), data_(data), size_(size), version_(version) {}
  Status read_with(void (*touch)(void*), void* given) const;
  Status truncated_error() const;

  std::string path_;
  FileDescriptor file_;
  const uint8_t* data_;
  uint64_t size_;
  uint64_t version_;
};

}  // namespace forebay
