#include "serve/live_pages.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "serve/runtime_folder.h"

namespace forebay {

namespace {

using PageJson = nlohmann::json;

constexpr std::string_view kPageEnding = ".page";
constexpr size_t kMostPageBytes = 64 << 10;

std::string folder_of_pages() { return runtime_folder() + "/pages"; }

Status make_folders() {
  FOREBAY_RETURN_IF_ERROR(make_private_folder(runtime_folder()));
  return make_private_folder(folder_of_pages());
}

std::string text_of(const LivePage& page) {
  const PageJson json = {{"url", page.url},         {"pipeline", page.pipeline}, {"fingerprint", page.fingerprint},
                         {"process", page.process}, {"rank", page.rank},         {"world_size", page.world_size}};
  return json.dump(-1, ' ', false, PageJson::error_handler_t::replace);
}

// Nothing for a file that another version has written.
std::optional<LivePage> page_of(const std::string& text) {
  const PageJson json = PageJson::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    return LivePage{json.at("url"),     json.at("pipeline"), json.at("fingerprint"),
                    json.at("process"), json.at("rank"),     json.at("world_size")};
  } catch (const PageJson::exception&) {
    return std::nullopt;
  }
}

std::string read_text(int file) {
  std::string text(kMostPageBytes, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

bool write_text(int file, const std::string& text) {
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Its process holds the lock of a file until it ends, however it ends.
bool process_lives(int file) { return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

std::optional<LivePage> read_page(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return std::nullopt;
  if (process_lives(file.get())) return page_of(read_text(file.get()));
  // Names are never used twice, so this is no file of another process.
  unlink(path.c_str());
  return std::nullopt;
}

}  // namespace

PublishedPage::PublishedPage(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

Result<std::unique_ptr<PublishedPage>> PublishedPage::publish(const LivePage& page) {
  FOREBAY_RETURN_IF_ERROR(make_folders());
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string path = fmt::format("{}/{}-{}{}", folder_of_pages(), getpid(), now, kPageEnding),
                    made = path + ".new";
  const auto failed = [&] {
    return unavailable(fmt::format("the file by which a page is found cannot be written: {}", std::strerror(errno)))
        .with_key(path);
  };
  FileDescriptor file(open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return failed();
  // Readers look at files with their final names, which are locked before they have them.
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !write_text(file.get(), text_of(page)) ||
      rename(made.c_str(), path.c_str()) != 0) {
    const Status status = failed();
    unlink(made.c_str());
    return status;
  }
  return std::unique_ptr<PublishedPage>(new PublishedPage(path, std::move(file)));
}

PublishedPage::~PublishedPage() {
  if (!path_.empty()) unlink(path_.c_str());
}

void PublishedPage::forget() {
  path_.clear();
  file_ = FileDescriptor();
}

Result<std::vector<LivePage>> live_pages() {
  std::error_code error;
  if (!std::filesystem::exists(folder_of_pages(), error)) return std::vector<LivePage>();
  FOREBAY_RETURN_IF_ERROR(make_folders());
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of_pages(), error))
    if (entry.path().extension() == kPageEnding) paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  std::vector<LivePage> pages;
  for (const std::string& path : paths)
    if (std::optional<LivePage> page = read_page(path)) pages.push_back(std::move(*page));
  std::ranges::stable_sort(pages, {}, &LivePage::process);
  return pages;
}

}  // namespace forebay
