#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "store/local/local_file.h"
#include "store/store.h"

namespace forebay {

/// A store of one file, which stays open: it is read to its end also where its name is gone
/// meanwhile, or is another file's. Its one key is its path. Reads are answered on the calling
/// thread.
class OpenedFile final : public Store {
 public:
  /// NotFound, Unsupported for what is no regular file, InvalidArgument without the right.
  static Result<std::shared_ptr<OpenedFile>> open(const std::string& path);

  uint64_t size() const { return static_cast<uint64_t>(opened_.st_size); }
  /// Corrupt where somebody has written to it since it was opened.
  Status check_unwritten() const;

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override;
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override;
  void stat(const std::string& key, std::stop_token stop, StatDone done) override;
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

 private:
  OpenedFile(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<Buffer> read_part(const ReadRequest& request) const;

  const FileDescriptor file_;
  const std::string path_;
  struct ::stat opened_{};
};

}  // namespace forebay
