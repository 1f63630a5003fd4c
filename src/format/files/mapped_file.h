#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// A file mapped into memory, read-only. Where it becomes shorter meanwhile, read() and check_length() are errors that name it: whoever
/// touches `data()` outside read() may end the process by SIGBUS. Any number of threads may use it.
/// A handler of SIGBUS is installed for the process; what is none of ours goes on to the one that was there.
class MappedFile {
 public:
  /// Corrupt where it is empty.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Of the file as it was when it was opened (version_of_file).
  uint64_t version() const { return version_; }

  /// Calls `touch`, which is left in its midst where the file has no such page any more: nothing in it may need a destructor.
  /// What stood in the last page behind the new end reads as zeros; only check_length() notices that.
  template <typename Touch>
  Status read(Touch touch) const {
    return read_with([](void* given) { (*static_cast<Touch*>(given))(); }, &touch);
  }
  /// Whether the file is as long as it was.
  Status check_length() const;

 private:
  MappedFile(std::string path, FileDescriptor file, const uint8_t* data, uint64_t size, uint64_t version)
      : path_(std::move(path)), file_(std::move(file)), data_(data), size_(size), version_(version) {}
  Status read_with(void (*touch)(void*), void* given) const;
  Status became_shorter() const;

  std::string path_;
  FileDescriptor file_;
  const uint8_t* data_;
  uint64_t size_;
  uint64_t version_;
};

}  // namespace forebay
