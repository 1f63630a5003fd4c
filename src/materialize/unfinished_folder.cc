#include "materialize/unfinished_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWriting = ".writing";  // ends the names of files that are not whole

Status not_written(const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable;
  return Status(code, fmt::format("cannot be written: {}; what is done stays there, and the same command goes on",
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

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// A new file, with its lock; -1 where it cannot be made. One that a sweeper found before it had its lock is gone, and is made again.
Descriptor new_file(const std::string& path) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    struct stat now{};
    if (file.get() < 0 || ::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &now) != 0) return Descriptor(-1);
    if (now.st_nlink > 0) return file;
  }
}

bool sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.get() >= 0 && ::fsync(opened.get()) == 0;
}

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string_view view_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

std::string shard_entry(int64_t shard) { return fmt::format("{}/part-{:05}.json", kUnfinishedFolder, shard); }
std::string job_file() { return fmt::format("{}/job.json", kUnfinishedFolder); }

std::optional<UnfinishedFolder::Job> read_job(const std::string& path) {
  const auto json = nlohmann::json::parse(text_of(path).value_or(""), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("what") || !json.contains("how")) return std::nullopt;
  return UnfinishedFolder::Job{json["what"].dump(), json["how"].dump()};
}

}  // namespace

std::string UnfinishedFolder::below(std::string_view name) const { return (fs::path(folder_) / name).string(); }

Result<std::optional<MaterializedManifest>> UnfinishedFolder::finished(const std::string& folder) {
  const fs::path path = fs::path(folder) / kManifestName;
  const std::optional<std::string> text = text_of(path);
  if (!text) return std::optional<MaterializedManifest>();
  Result<MaterializedManifest> manifest = MaterializedManifest::from_json(*text);
  if (!manifest.ok()) return Status(manifest.status()).with_key(path.string());
  std::error_code ignored;
  fs::remove_all(fs::path(folder) / kUnfinishedFolder, ignored);
  return std::optional(std::move(*manifest));
}

std::optional<std::string> UnfinishedFolder::steps_of(const std::string& folder) {
  const auto steps = [](const std::string& manifest) -> std::optional<std::string> {
    const Result<MaterializedManifest> read = MaterializedManifest::from_json(manifest);
    return read.ok() ? std::optional(read->steps) : std::nullopt;
  };
  if (const auto text = text_of(fs::path(folder) / kManifestName)) return steps(*text);
  const std::optional<Job> begun = read_job((fs::path(folder) / job_file()).string());
  return begun ? steps(begun->what) : std::nullopt;
}

Result<UnfinishedFolder> UnfinishedFolder::open(std::string folder, Job job) {
  UnfinishedFolder opened(std::move(folder), std::move(job));
  FOREBAY_ASSIGN(const MaterializedManifest what, MaterializedManifest::from_json(opened.job_.what));
  opened.format_ = what.format;
  FOREBAY_RETURN_IF_ERROR(opened.begin());
  opened.sweep();
  return opened;
}

Status UnfinishedFolder::begin() {
  std::error_code failed;
  fs::create_directories(below(kUnfinishedFolder), failed);
  for (const char* name : {"_index", "_identities"})
    if (!failed) fs::create_directories(below(name), failed);
  if (failed)
    return Status(failed == std::errc::no_such_file_or_directory ? Code::kNotFound : Code::kUnavailable,
                  fmt::format("cannot be made: {}", failed.message()))
        .with_key(folder_);
  if (!read_job(below(job_file()))) {
    const nlohmann::json json = {{"what", nlohmann::json::parse(job_.what)}, {"how", nlohmann::json::parse(job_.how)}};
    FOREBAY_RETURN_IF_ERROR(write(job_file(), json.dump(1) + "\n"));
  }
  // Two that begin at once write the same, unless they are not the same.
  const std::optional<Job> begun = read_job(below(job_file()));
  const std::string wanted = nlohmann::json::parse(job_.what).dump();
  if (!begun || begun->what != wanted)
    return invalid_argument(
               "holds something else that was begun there: another pipeline, cut or version of the data; give another "
               "folder, or remove this one")
        .with_key(folder_);
  job_ = *begun;
  return {};
}

// Whoever writes a file holds its lock, so that one without a lock has lost its writer.
void UnfinishedFolder::sweep() const {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(below(kUnfinishedFolder), failed)) {
    if (!entry.path().filename().string().ends_with(kWriting)) continue;
    const Descriptor file(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) fs::remove(entry.path(), failed);
  }
}

Status UnfinishedFolder::write(const std::string& name, std::string_view bytes) const {
  static thread_local std::mt19937_64 random{std::random_device()()};
  const fs::path path = below(name);
  const std::string writing = below(fmt::format("{}/{:016x}{}", kUnfinishedFolder, random(), kWriting));
  const Descriptor file = new_file(writing);
  if (file.get() < 0) return not_written(path.string());
  const bool whole = write_all(file.get(), bytes) && ::fsync(file.get()) == 0 &&
                     ::rename(writing.c_str(), path.c_str()) == 0 && sync_folder(path.parent_path());
  if (whole) return {};
  Status failed = not_written(path.string());
  ::unlink(writing.c_str());
  return failed;
}

std::optional<StoredShard> UnfinishedFolder::done(int64_t shard) const {
  const std::optional<std::string> text = text_of(below(shard_entry(shard)));
  if (!text) return std::nullopt;
  const Result<StoredShard> entry = shard_from_json(*text);
  if (!entry.ok()) return std::nullopt;
  std::error_code gone;
  const auto has = [&](const std::string& name, uint64_t bytes) { return fs::file_size(below(name), gone) == bytes; };
  const bool there = has(shard_file(shard, format_), entry->bytes) &&
                     (entry->index_bytes == 0 || has(index_file(shard), entry->index_bytes));
  return there ? std::optional(*entry) : std::nullopt;
}

Result<StoredShard> UnfinishedFolder::put(int64_t shard, int64_t rows, const ShardFiles& files) const {
  StoredShard entry;
  entry.rows = rows;
  entry.bytes = files.data.size();
  entry.checksum = hash128(files.data.data(), files.data.size());
  FOREBAY_RETURN_IF_ERROR(write(shard_file(shard, format_), view_of(files.data)));
  if (!files.index.empty()) {
    entry.index_bytes = files.index.size();
    entry.index_checksum = hash128(files.index.data(), files.index.size());
    FOREBAY_RETURN_IF_ERROR(write(index_file(shard), view_of(files.index)));
  }
  FOREBAY_RETURN_IF_ERROR(write(identities_file(shard), view_of(files.identities)));
  // Last: whoever finds it finds the files.
  FOREBAY_RETURN_IF_ERROR(write(shard_entry(shard), to_json(entry)));
  return entry;
}

Status UnfinishedFolder::finish(const MaterializedManifest& manifest) const {
  FOREBAY_RETURN_IF_ERROR(write(std::string(kManifestName), manifest.to_json()));
  std::error_code ignored;
  fs::remove_all(below(kUnfinishedFolder), ignored);
  return {};
}

}  // namespace forebay
