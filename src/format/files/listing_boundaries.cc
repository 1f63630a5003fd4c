#include "format/files/listing_boundaries.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "base/hash.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPartNames = 950;  // a page has 1,000: some may come until the next walk
constexpr std::string_view kListingMagic = "forebay listing 1\n";
constexpr size_t kHashBytes = 32;

void put(std::string* out, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

std::optional<std::string> take(std::string_view* in) {
  uint32_t size = 0;
  if (in->size() < sizeof size) return std::nullopt;
  std::memcpy(&size, in->data(), sizeof size);
  in->remove_prefix(sizeof size);
  if (in->size() < size) return std::nullopt;
  std::string text(in->substr(0, size));
  in->remove_prefix(size);
  return text;
}

bool may_cut(const std::string& folder, const std::string& name) {
  return name.size() > folder.size() && name.starts_with(folder) && name.find('/', folder.size()) == std::string::npos;
}

/// Every name belongs to the folder before it, which ends in '/' (or is empty) as no name does.
std::string serialised(const std::string& listing, const Boundaries& boundaries) {
  std::string payload;
  put(&payload, listing);
  for (const auto& [folder, names] : boundaries) {
    put(&payload, folder);
    for (const std::string& name : names) put(&payload, name);
  }
  return payload;
}

Boundaries parsed(std::string_view payload, const std::string& listing) {
  Boundaries boundaries;
  if (take(&payload) != listing) return boundaries;
  std::vector<std::string>* names = nullptr;
  std::string folder;
  while (auto text = take(&payload)) {
    if (text->empty() || text->ends_with('/')) {
      folder = *text;
      names = &boundaries[folder];
    } else if (names == nullptr || !may_cut(folder, *text) || (!names->empty() && *text <= names->back())) {
      return {};
    } else {
      names->push_back(std::move(*text));
    }
  }
  return boundaries;
}

bool write_file(const std::string& path, std::string_view text) {
  // No link: whoever put it there would choose what is overwritten.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  bool ok = true;
  while (ok && !text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    ok = written > 0;
    if (ok) text.remove_prefix(static_cast<size_t>(written));
  }
  return ::close(fd) == 0 && ok;
}

}  // namespace

void BoundaryRecorder::add(const std::string& folder, std::string last, uint64_t entries) {
  if (may_cut(folder, last)) runs_[folder].emplace_back(std::move(last), entries);
}

Boundaries BoundaryRecorder::boundaries() && {
  Boundaries boundaries;
  for (auto& [folder, runs] : runs_) {
    std::ranges::sort(runs);
    std::vector<std::string>& names = boundaries[folder];
    uint64_t entries = 0;
    // The last run ends where the folder does, which is no cut.
    for (size_t i = 0; i + 1 < runs.size(); ++i) {
      entries += runs[i].second;
      if (entries + runs[i + 1].second <= kPartNames) continue;
      if (names.empty() || names.back() < runs[i].first) names.push_back(runs[i].first);
      entries = 0;
    }
    if (names.empty()) boundaries.erase(folder);
  }
  return boundaries;
}

std::string BoundaryFiles::path(const std::string& listing) const {
  return fmt::format("{}/{}.boundaries", folder_, hash128(listing).to_string());
}

Boundaries BoundaryFiles::load(const std::string& listing) const {
  std::error_code error;
  if (!fs::is_regular_file(path(listing), error)) return {};
  std::ifstream in(path(listing), std::ios::binary | std::ios::ate);
  // Of the file that is open: another process may put a longer or shorter one in its place at any time.
  const auto size = static_cast<uint64_t>(in.tellg());
  if (!in || size > kMaxFileBytes || size < kListingMagic.size() + kHashBytes) return {};
  std::string text(size, '\0');
  in.seekg(0);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) return {};
  const std::string_view payload = std::string_view(text).substr(kListingMagic.size() + kHashBytes);
  if (!text.starts_with(kListingMagic) || text.substr(kListingMagic.size(), kHashBytes) != hash128(payload).to_string())
    return {};
  fs::last_write_time(path(listing), fs::file_time_type::clock::now(), error);  // used: not the first to go
  return parsed(payload, listing);
}

void BoundaryFiles::save(const std::string& listing, const Boundaries& boundaries) const {
  const std::string payload = serialised(listing, boundaries);
  if (payload.size() + kListingMagic.size() + kHashBytes > kMaxFileBytes) return;
  std::error_code error;
  const fs::path parent = fs::path(folder_).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return;
  // Other processes may save the same listing now; whoever renames last wins.
  const std::string aside = fmt::format("{}.{}.new", path(listing), ::getpid());
  if (write_file(aside, fmt::format("{}{}{}", kListingMagic, hash128(payload).to_string(), payload))) {
    fs::rename(aside, path(listing), error);
  }
  fs::remove(aside, error);
  remove_oldest();
}

void BoundaryFiles::remove_oldest() const {
  remove_oldest_files(folder_, kMaxFiles,
                      [](std::string_view name) { return name.ends_with(".boundaries") || name.ends_with(".new"); });
}

}  // namespace forebay
