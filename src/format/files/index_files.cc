#include "format/files/index_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "base/hash.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexMagic = "forebay index 1\n";
constexpr std::string_view kUnfinished = ".new";
constexpr size_t kHashDigits = 32;

/// The part of the header before the checksum.
std::string head_of(const IndexKind& kind, std::string_view identity) {
  return fmt::format("{}{}\n{}", kIndexMagic, kind.name, hash128(identity).to_string());
}

/// The checksum covers the header too, so a damaged identity counts as damage and not as another
/// identity.
std::string checksum_of(std::string_view head, std::string_view payload) {
  Hasher hash;
  hash.update(head);
  hash.update(payload);
  return hash.digest().to_string();
}

std::optional<std::string> read_whole(const std::string& path, uint64_t most_bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  // Size of the open file. Another process may replace the path at any time.
  const auto size = static_cast<uint64_t>(in.tellg());
  if (!in || size > most_bytes) return std::nullopt;
  std::string text(size, '\0');
  in.seekg(0);
  return in.read(text.data(), static_cast<std::streamsize>(size)) ? std::optional(std::move(text)) : std::nullopt;
}

bool write_new(const std::string& path, std::string_view text, mode_t mode) {
  // Following a link would let its creator choose which file is overwritten.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return false;
  bool written = true;
  while (written && !text.empty()) {
    const ssize_t bytes = ::write(fd, text.data(), text.size());
    written = bytes > 0;
    if (written) text.remove_prefix(static_cast<size_t>(bytes));
  }
  return ::close(fd) == 0 && written;
}

std::string unused_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  // The name has the process id and a count, because several threads of a process may save the same
  // file.
  return fmt::format("{}.{}.{}{}", path, ::getpid(), ++count, kUnfinished);
}

}  // namespace

LoadedIndex load_index_file(const IndexKind& kind, const std::string& path, std::string_view identity) {
  using State = LoadedIndex::State;
  const std::optional<std::string> text = read_whole(path, kind.most_bytes);
  if (!text) return {};
  const std::string expected = head_of(kind, identity);
  if (text->size() < expected.size() + kHashDigits) return {State::kDamaged, {}};
  const std::string_view head = std::string_view(*text).substr(0, expected.size());
  const std::string_view checksum = std::string_view(*text).substr(head.size(), kHashDigits);
  const std::string_view payload = std::string_view(*text).substr(head.size() + kHashDigits);
  const size_t begin = expected.size() - kHashDigits;
  if (head.substr(0, begin) != std::string_view(expected).substr(0, begin) || checksum != checksum_of(head, payload))
    return {State::kDamaged, {}};
  if (head != expected) return {State::kStale, {}};
  return {State::kFound, std::string(payload)};
}

bool save_index_file(const IndexKind& kind, const std::string& path, std::string_view identity,
                     std::string_view payload, mode_t mode) {
  const std::string head = head_of(kind, identity);
  // A file that load_index_file() would refuse is not written. This is not a failure.
  if (head.size() + kHashDigits + payload.size() > kind.most_bytes) return true;
  const std::string unfinished = unused_name(path);
  std::error_code error;
  bool written = write_new(unfinished, fmt::format("{}{}{}", head, checksum_of(head, payload), payload), mode);
  if (written) {
    fs::rename(unfinished, path, error);
    written = !error;
  }
  if (!written) fs::remove(unfinished, error);
  return written;
}

std::string IndexFiles::path(std::string_view identity) const {
  return fmt::format("{}/{}.{}", folder_, hash128(identity).to_string(), kind_.name);
}

LoadedIndex IndexFiles::load(std::string_view identity) const {
  if (folder_.empty()) return {};
  LoadedIndex loaded = load_index_file(kind_, path(identity), identity);
  std::error_code error;
  if (loaded.state == LoadedIndex::State::kFound)
    fs::last_write_time(path(identity), fs::file_time_type::clock::now(), error);
  return loaded;
}

bool IndexFiles::save(std::string_view identity, std::string_view payload) const {
  if (folder_.empty()) return false;
  std::error_code error;
  const fs::path parent = fs::path(folder_).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  // Only the owner has access, because anyone who can write here controls what an index says.
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return save_index_file(kind_, path(identity), identity, payload, 0600);
}

void IndexFiles::remove_oldest() const {
  if (folder_.empty()) return;
  // Killed processes leave unfinished files.
  const std::string ending = fmt::format(".{}", kind_.name);
  remove_oldest_files(folder_, kind_.max_files,
                      [&](std::string_view name) { return name.ends_with(ending) || name.ends_with(kUnfinished); });
}

}  // namespace forebay
