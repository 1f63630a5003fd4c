#include "materialize/local_location.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "format/materialized/manifest.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinishedSuffix = ".writing";  // suffix of incomplete files
constexpr const char* kSideFolders[] = {"_index", "_identities"};

Status write_error(const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable;
  return Status(code, fmt::format("cannot be written: {}; finished files stay; run the same command again to continue",
                                  std::strerror(errno)))
      .with_key(path);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_piece(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

bool write_all(int fd, const BufferChain& bytes) {
  return std::ranges::all_of(bytes.pieces(), [fd](const Buffer& piece) { return write_piece(fd, piece.span()); });
}

// Makes a new file and locks it; -1 if that fails. If a sweeper deletes it before it is locked,
// tries again.
Descriptor new_file(const std::string& path) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    struct stat now{};
    if (file.get() < 0 || ::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &now) != 0) return Descriptor(-1);
    // Until it is locked, sweep() treats a file as left over, and may have deleted it.
    if (now.st_nlink > 0) return file;
  }
}

bool sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.get() >= 0 && ::fsync(opened.get()) == 0;
}

// On file systems without links, the last writer wins.
bool link_unless_exists(const std::string& writing, const fs::path& path) {
  if (::link(writing.c_str(), path.c_str()) == 0 || errno == EEXIST) return ::unlink(writing.c_str()) == 0;
  return errno != ENOENT && ::rename(writing.c_str(), path.c_str()) == 0;
}

class LocalLocation final : public OutputLocation {
 public:
  explicit LocalLocation(std::string folder) : folder_(std::move(folder)) {}

  std::string name() const override { return folder_; }
  std::string name_of(const std::string& file) const override { return (fs::path(folder_) / file).string(); }

  Status make() const override {
    std::error_code failed;
    fs::create_directories(name_of(std::string(kUnfinishedFolder)), failed);
    for (const char* part : kSideFolders)
      if (!failed) fs::create_directories(name_of(part), failed);
    if (failed)
      return Status(failed == std::errc::no_such_file_or_directory ? Code::kNotFound : Code::kUnavailable,
                    fmt::format("cannot be made: {}", failed.message()))
          .with_key(folder_);
    sweep();
    return {};
  }

  Result<std::vector<std::optional<std::string>>> read(std::span<const std::string> files) const override {
    std::vector<std::optional<std::string>> found;
    for (const std::string& name : files) {
      std::ifstream file(name_of(name), std::ios::binary);
      found.push_back(file ? std::optional(std::string(std::istreambuf_iterator<char>(file), {})) : std::nullopt);
    }
    return found;
  }

  Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> files) const override {
    std::vector<std::optional<uint64_t>> found;
    for (const std::string& name : files) {
      std::error_code gone;
      const uint64_t bytes = fs::file_size(name_of(name), gone);
      found.push_back(gone ? std::nullopt : std::optional(bytes));
    }
    return found;
  }

  Status write(const std::string& file, const BufferChain& bytes) const override { return write(file, bytes, false); }
  Status write_new(const std::string& file, const BufferChain& bytes) const override {
    return write(file, bytes, true);
  }

  Status erase(std::span<const std::string> files) const override {
    for (const std::string& file : files) {
      std::error_code failed;
      fs::remove(name_of(file), failed);
      if (failed)
        return Status(Code::kUnavailable, fmt::format("cannot be taken away: {}", failed.message()))
            .with_key(name_of(file));
    }
    return {};
  }

  void clear() const override {
    std::error_code ignored;
    for (const char* part : kSideFolders) fs::remove(name_of(part), ignored);  // only empty folders
    fs::remove_all(name_of(std::string(kUnfinishedFolder)), ignored);
  }

 private:
  // Deletes files of dead writers. A writer holds the lock of its file as long as it lives.
  void sweep() const {
    std::error_code failed;
    for (const fs::path& entry : entries_of(name_of(std::string(kUnfinishedFolder)))) {
      if (!entry.filename().string().ends_with(kUnfinishedSuffix)) continue;
      const Descriptor file(::open(entry.c_str(), O_RDWR | O_CLOEXEC));
      if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) fs::remove(entry, failed);
    }
  }

  Status write(const std::string& name, const BufferChain& bytes, bool only_new) const {
    // A random name, since any number of processes write to one folder.
    static thread_local std::mt19937_64 random{std::random_device()()};
    const fs::path path = name_of(name);
    const std::string writing = name_of(fmt::format("{}/{:016x}{}", kUnfinishedFolder, random(), kUnfinishedSuffix));
    const Descriptor file = new_file(writing);
    if (file.get() < 0) return write_error(path.string());
    const auto give_name = [&] {
      return only_new ? link_unless_exists(writing, path) : ::rename(writing.c_str(), path.c_str()) == 0;
    };
    // This order survives a crash: content, then name, then the folder that holds the name.
    const bool whole =
        write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && give_name() && sync_folder(path.parent_path());
    if (whole) return {};
    Status failed = write_error(path.string());
    ::unlink(writing.c_str());
    return failed;
  }

  const std::string folder_;
};

}  // namespace

std::shared_ptr<OutputLocation> local_location(std::string folder) {
  return std::make_shared<LocalLocation>(std::move(folder));
}

}  // namespace forebay
