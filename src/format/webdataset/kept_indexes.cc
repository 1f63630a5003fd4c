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

#include "base/folder_entries.h"
#include "base/hash.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexMagic = "forebay tar index 2\n";
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

bool write_index(const std::string& path, std::string_view text, mode_t mode) {
  // No link: whoever put it there would choose what is overwritten.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
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

/// One beside its shard goes with the folder, wherever that is found.
std::string known_as(const KeptIndexes::Shard& shard, bool beside, NameSplit split) {
  const std::string name = beside ? fs::path(shard.name).filename().string() : shard.name;
  return fmt::format("{} {}{}\n{}\n", shard.size, shard.version, split == NameSplit::kLastDot ? " last" : "", name);
}

std::string unused_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  // The process and a count, since several threads of one may save the same.
  return fmt::format("{}.{}.{}.new", path, ::getpid(), ++count);
}

}  // namespace

std::string KeptIndexes::path(const Shard& shard) const {
  if (beside_) return fmt::format("{}{}{}", shard.name, split_ == NameSplit::kLastDot ? ".last" : "", kBeside);
  return fmt::format("{}/{}{}", folder_, hash128(known_as(shard, beside_, split_)).to_string(), kIndexEnding);
}

std::optional<TarIndex> KeptIndexes::load(const Shard& shard) const {
  if (!keeps(shard)) return std::nullopt;
  const std::optional<std::string> text = read_index(path(shard));
  if (!text) return std::nullopt;
  const auto none = [&](Trouble& why) -> std::optional<TarIndex> {
    if (beside_) why.add(path(shard));
    return std::nullopt;
  };
  if (!text->starts_with(kIndexMagic) || text->size() < kIndexMagic.size() + kIndexHashBytes) return none(damaged_);
  const std::string_view payload = std::string_view(*text).substr(kIndexMagic.size() + kIndexHashBytes);
  const std::string known = known_as(shard, beside_, split_);
  // Against damage, not against malice: from_bytes() believes no number in it either.
  if (text->substr(kIndexMagic.size(), kIndexHashBytes) != hash128(payload).to_string()) return none(damaged_);
  if (!payload.starts_with(known)) return none(stale_);
  std::error_code error;
  if (!beside_) fs::last_write_time(path(shard), fs::file_time_type::clock::now(), error);  // used: not the first to go
  std::optional<TarIndex> index = TarIndex::from_bytes(payload.substr(known.size()), shard.size);
  return index ? std::move(index) : none(damaged_);
}

void KeptIndexes::save(const Shard& shard, const TarIndex& index) const {
  if (!keeps(shard)) return;
  const std::string payload = known_as(shard, beside_, split_) + index.to_bytes();
  // What load() would refuse need not be written.
  if (payload.size() + kIndexMagic.size() + kIndexHashBytes > kMostFileBytes) return;
  std::error_code error;
  if (!beside_) {
    fs::create_directories(fs::path(folder_).parent_path(), error);
    // For its owner alone: whoever could write there would say what stands in a shard.
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return;
  }
  // Other processes may save the same now; whoever renames last wins.
  const std::string aside = unused_name(path(shard));
  bool written = write_index(aside, fmt::format("{}{}{}", kIndexMagic, hash128(payload).to_string(), payload),
                             beside_ ? 0644 : 0600);
  if (written) {
    fs::rename(aside, path(shard), error);
    written = !error;
  }
  if (!written && beside_) unwritten_.add(path(shard));
  // Gone if the rename did it; else nothing is left lying about.
  fs::remove(aside, error);
}

void KeptIndexes::Trouble::add(const std::string& path) {
  const std::lock_guard lock(mutex);
  if (count++ == 0) first = path;
}

void KeptIndexes::tell() const {
  const auto told = [](const Trouble& trouble, std::string_view what) {
    if (trouble.count > 0)
      log_warning(fmt::format("{} of the indexes beside shards {} ({}{})", trouble.count.load(), what, trouble.first,
                              trouble.count > 1 ? ", …" : ""));
  };
  told(damaged_, "are damaged: they were made anew");
  told(stale_, "are of another state of their shards: they were made anew");
  told(unwritten_, "cannot be written: headers are read again each time");
}

void KeptIndexes::remove_oldest() const {
  if (beside_) return;
  // Nothing else in that folder is ours; ".new" is left of a process that was killed.
  remove_oldest_files(folder_, kMostFiles,
                      [](std::string_view name) { return name.ends_with(kIndexEnding) || name.ends_with(".new"); });
}

}  // namespace forebay
