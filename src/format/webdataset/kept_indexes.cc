#include "format/webdataset/kept_indexes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexMagic = "forebay tar index 1\n";
constexpr std::string_view kIndexEnding = ".tarindex";
constexpr size_t kIndexHashBytes = 32;

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool write_index(const std::string& path, std::string_view text) {
  // No link: whoever put it there would choose what is overwritten.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const bool written = write_all(fd, text);
  return ::close(fd) == 0 && written;
}

std::optional<std::string> read_index(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  // Of the file that is open: another process may put another in its place at any time.
  const auto size = static_cast<uint64_t>(in.tellg());
  if (!in || size > KeptIndexes::kMostFileBytes) return std::nullopt;
  std::string text(size, '\0');
  in.seekg(0);
  return in.read(text.data(), static_cast<std::streamsize>(size)) ? std::optional(std::move(text)) : std::nullopt;
}

std::string known_as(const KeptIndexes::Shard& shard) {
  return fmt::format("{} {}\n{}\n", shard.size, shard.version, shard.name);
}

std::string unused_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  return fmt::format("{}.{}.{}.new", path, ::getpid(), ++count);
}

}  // namespace

std::string KeptIndexes::path(const Shard& shard) const {
  return fmt::format("{}/{}{}", folder_, hash128(known_as(shard)).to_string(), kIndexEnding);
}

std::optional<TarIndex> KeptIndexes::load(const Shard& shard) const {
  if (folder_.empty() || shard.version == 0) return std::nullopt;
  const std::optional<std::string> text = read_index(path(shard));
  if (!text || !text->starts_with(kIndexMagic) || text->size() < kIndexMagic.size() + kIndexHashBytes)
    return std::nullopt;
  const std::string_view payload = std::string_view(*text).substr(kIndexMagic.size() + kIndexHashBytes);
  const std::string known = known_as(shard);
  if (text->substr(kIndexMagic.size(), kIndexHashBytes) != hash128(payload).to_string() || !payload.starts_with(known))
    return std::nullopt;
  std::error_code error;
  fs::last_write_time(path(shard), fs::file_time_type::clock::now(), error);  // used: not the first to go
  return TarIndex::from_bytes(payload.substr(known.size()), shard.size);
}

void KeptIndexes::save(const Shard& shard, const TarIndex& index) const {
  if (folder_.empty() || shard.version == 0) return;
  const std::string payload = known_as(shard) + index.to_bytes();
  if (payload.size() + kIndexMagic.size() + kIndexHashBytes > kMostFileBytes) return;
  std::error_code error;
  fs::create_directories(fs::path(folder_).parent_path(), error);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return;
  // Other processes may save the same now; whoever renames last wins.
  const std::string aside = unused_name(path(shard));
  if (write_index(aside, fmt::format("{}{}{}", kIndexMagic, hash128(payload).to_string(), payload)))
    fs::rename(aside, path(shard), error);
  fs::remove(aside, error);
}

void KeptIndexes::remove_oldest() const {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kIndexEnding) || name.ends_with(".new"))
      files.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (files.size() <= kMostFiles) return;
  std::ranges::sort(files);
  for (size_t i = 0; i + kMostFiles < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace forebay
