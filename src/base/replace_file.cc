#include "base/replace_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

namespace forebay {

namespace {

struct CloseWritten {
  void operator()(FILE* file) const { std::fclose(file); }
};
using WrittenFile = std::unique_ptr<FILE, CloseWritten>;

Status cannot_write() {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable;
  return Status(code, fmt::format("cannot write it: {}", std::strerror(errno)));
}

// Always the same name, so that the next run overwrites the file of a killed run. Two concurrent
// writers share the file: readers that need it intact must check its content.
std::string temporary_path(const std::string& path) { return path + ".tmp"; }

}  // namespace

Status replace_file(const std::string& path, std::string_view bytes) {
  const std::string unfinished = temporary_path(path);
  WrittenFile file(std::fopen(unfinished.c_str(), "wb"));
  if (!file) return cannot_write();
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  written = std::fclose(file.release()) == 0 && written;
  // No fsync(): the kernel retains the writes of a killed process. After a power failure the file
  // may be empty.
  if (written && std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  Status failed = cannot_write();
  std::remove(unfinished.c_str());
  return failed;
}

Status check_replaceable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return cannot_write();
  }
  const std::string unfinished = temporary_path(path);
  if (!WrittenFile(std::fopen(unfinished.c_str(), "wb"))) return cannot_write();
  std::remove(unfinished.c_str());
  return {};
}

}  // namespace forebay
