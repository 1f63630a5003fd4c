#include "stream/rows/opened_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "forebay/stats/store.h"
#include "store/range.h"

namespace forebay {

Result<std::shared_ptr<OpenedFile>> OpenedFile::open(const std::string& path) {
  uint64_t size = 0;
  Result<FileDescriptor> file = open_regular(path, &size);
  if (!file.ok()) return Status(file.status()).with_key(path);
  std::shared_ptr<OpenedFile> opened(new OpenedFile(std::move(*file), path));
  if (::fstat(opened->file_.get(), &opened->opened_) != 0) return status_of_errno(errno).with_key(path);
  return opened;
}

// ctime does not serve here: it also changes when the file is renamed or removed.
Status OpenedFile::check_unwritten() const {
  struct ::stat now{};
  if (::fstat(file_.get(), &now) != 0) return status_of_errno(errno).with_key(path_);
  // Limited by the file system's clock: a write within one tick that keeps the size is not noticed.
  const bool same = now.st_size == opened_.st_size && now.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec;
  if (same) return {};
  return corrupt("was written to while it was read; write under a name that ends in .tmp, and rename").with_key(path_);
}

Result<Buffer> OpenedFile::read_part(const ReadRequest& request) const {
  FOREBAY_ASSIGN(const ByteRange range, resolve_range(request, size()));
  Buffer bytes = Buffer::allocate(range.length);
  uint64_t done = 0;
  while (done < range.length) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + done, range.length - done, static_cast<off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_of_errno(errno).with_key(path_);
    if (got == 0) return size_changed(size(), range.offset + done).with_key(path_);
    done += static_cast<uint64_t>(got);
  }
  return bytes;
}

void OpenedFile::read(const ReadRequest& request, std::stop_token stop, ReadDone done) {
  if (stop.stop_requested()) return done(cancelled("stopped before a read"));
  done(read_part(request));
}

void OpenedFile::list(const ListRequest&, std::stop_token, ListDone done) {
  done(unsupported("one file is no folder").with_key(path_));
}

StoreStats OpenedFile::stats() const { return {}; }

void OpenedFile::stat(const std::string& key, std::stop_token, StatDone done) { done(ObjectInfo{key, size(), 0}); }

}  // namespace forebay
