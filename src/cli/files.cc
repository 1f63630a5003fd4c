#include "cli/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/replace_file.h"

namespace forebay {
namespace {

constexpr size_t kTextLimit = size_t{64} << 20;

struct CloseFile {
  void operator()(FILE* file) const {
    // Standard input belongs to the process and stays open.
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<FILE, CloseFile>;

Status file_failed(const std::string& path, const char* what) {
  // Read first, because any call in between may change errno.
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable;
  return Status(code, fmt::format("cannot {}: {}", what, std::strerror(errno))).with_key(file_name(path));
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  const File file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!file) return file_failed(path, "read it");
  std::string text;
  char block[65536];
  size_t got = 0;
  // Read to the end, because pipes and files in /proc have no known size.
  while ((got = std::fread(block, 1, sizeof block, file.get())) > 0) {
    text.append(block, got);
    if (text.size() > kTextLimit)
      return invalid_argument("is larger than 64 MiB, so it is no pipeline or state").with_key(file_name(path));
  }
  if (std::ferror(file.get())) return file_failed(path, "read it");
  return text;
}

std::string file_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<Pipeline> read_pipeline(const std::string& path, std::string_view text) {
  Result<Pipeline> pipeline = Pipeline::from_json(text);
  if (!pipeline.ok()) return Status(pipeline.status()).with_key(file_name(path));
  return pipeline;
}

Status write_file(const std::string& path, std::string_view bytes) {
  Status replaced = replace_file(path, bytes);
  return replaced.ok() ? replaced : std::move(replaced).with_key(file_name(path));
}

Status check_writable(const std::string& path) {
  Status writable = check_replaceable(path);
  return writable.ok() ? writable : std::move(writable).with_key(file_name(path));
}

}  // namespace forebay
