#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "store/local/local_file.h"
#include "store/store.h"

namespace forebay {

/// A store of one file, which stays open. The file can be read to its end even if its name is
/// removed or given to another file. The store's only key is the file's path. Reads are answered on
/// the calling thread.
class OpenedFile final : public Store {
 public:
  /// Errors: NotFound, Unsupported if it is not a regular file, InvalidArgument without permission.
  static Result<std::shared_ptr<OpenedFile>> open(const std::string& path);

  uint64_t size() const { return static_cast<uint64_t>(opened_.st_size); }
  /// Corrupt if the file was written to since it was opened.
  Status check_unwritten() const;

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override;
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override;
  void stat(const std::string& key, std::stop_token stop, StatDone done) override;
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override;

 private:
  OpenedFile(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<Buffer> read_part(const ReadRequest& request) const;

  const FileDescriptor file_;
  const std::string path_;
  struct ::stat opened_{};
};

}  // namespace forebay
