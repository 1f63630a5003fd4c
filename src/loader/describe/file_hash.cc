#include "loader/describe/file_hash.h"

#include "base/hash.h"
#include "format/files/mapped_file.h"

namespace forebay {

std::string file_hash(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return {};
  const MappedFile& mapped = **file;
  Hash128 hash;
  const Status read = mapped.read([&] { hash = hash128(mapped.data(), mapped.size()); });
  return read.ok() ? hash.to_string() : std::string();
}

}  // namespace forebay
