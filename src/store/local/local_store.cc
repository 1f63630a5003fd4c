#include "store/local/local_store.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "forebay/stats/store.h"
#include "store/calls.h"
#include "store/io_threads.h"
#include "store/local/local_file.h"
#include "store/local/local_list.h"

namespace forebay {

namespace {

class LocalStore final : public Store {
 public:
  LocalStore(std::string root, const LocalOptions& options)
      : shown_root_(with_slash(root)),
        core_(std::make_shared<Core>(with_slash(absolute(root)), root.empty(), options.idle_buffer_bytes)),
        threads_(std::max<size_t>(options.io_threads, 1)) {}

  ~LocalStore() override {
    if (threads_.in_forked_child()) {  // a fork: threads that hold locks are not here
      new std::shared_ptr<Core>(core_);
      return;
    }
    // Calls are closed first, so that a job stuck in the kernel has been answered when its thread
    // is abandoned.
    core_->calls.close();
    threads_.close();
  }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    start<Buffer>(request.key, stop, std::move(done), [request](Core& core) {
      return read_file(core.path(request.key), request, *core.buffers, core.calls);
    });
  }

  bool reads_now() const override { return !threads_.in_forked_child() && core_->cached.begin_try(); }

  std::optional<Result<Buffer>> read_now(const ReadRequest& request) override {
    if (threads_.in_forked_child()) return std::nullopt;  // read() reports it
    auto result = core_->cached.read(core_->path(request.key), request, *core_->buffers, core_->calls);
    if (!result) return std::nullopt;
    core_->calls.count_immediate(result->ok() ? (*result)->size() : 0, result->ok());
    if (!result->ok()) return result->status().with_key(display_name(request.key));
    return result;
  }

  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    start<ListPage>(request.prefix, stop, std::move(done), [request, stop](Core& core) {
      // A prefix from "/" on is an absolute path, like keys in path().
      return list_folder(core.absolute_keys && request.prefix.starts_with('/') ? "" : core.root, request, stop);
    });
  }

  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    start<ObjectInfo>(key, stop, std::move(done), [key](Core& core) -> Result<ObjectInfo> {
      uint64_t size = 0;
      FOREBAY_ASSIGN(const FileDescriptor file, open_regular(core.path(key), &size));
      core.calls.count_open();
      struct ::stat info;
      if (::fstat(file.get(), &info) != 0) return status_of_errno(errno);
      return ObjectInfo{key, size, version_of_file(info)};
    });
  }

  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return core_->buffers; }
  std::string display_name(const std::string& key) const override { return shown_root_ + key; }
  StoreStats stats() const override { return core_->calls.stats(); }

 private:
  /// State that jobs use. They may outlive the store if a system call does not return.
  struct Core {
    Core(std::string root_path, bool keys_may_be_absolute, uint64_t idle_bytes)
        : root(std::move(root_path)), absolute_keys(keys_may_be_absolute), buffers(ReadBuffers::make(idle_bytes)) {}
    std::string path(const std::string& key) const { return absolute_keys && key.starts_with('/') ? key : root + key; }

    const std::string root;
    const bool absolute_keys;
    const std::shared_ptr<ReadBuffers> buffers;
    CachedReader cached;
    CallTable calls;
  };

  static std::string with_slash(std::string path) {
    if (!path.empty() && !path.ends_with('/')) path += '/';
    return path;
  }
  static std::string absolute(const std::string& path) {
    std::error_code error;  // no current directory any more: paths stay relative
    const auto full = path.empty() ? std::filesystem::current_path(error) : std::filesystem::absolute(path, error);
    return error ? path : full.string();
  }

  template <typename T, typename Work>
  void start(const std::string& key, std::stop_token stop, std::function<void(Result<T>)> done, Work work) {
    if (threads_.in_forked_child()) {
      done(invalid_argument("this store was made before a fork; open the data again in the new process")
               .with_key(display_name(key)));
      return;
    }
    auto call = core_->calls.begin<T>(display_name(key), std::move(stop), std::move(done));
    if (call->answered()) return;
    const bool posted = threads_.post([core = core_, call, name = display_name(key), work = std::move(work)] {
      if (call->answered()) return;
      Result<T> result = work(*core);
      if (!result.ok()) result = result.status().with_key(name);
      call->answer(std::move(result));
    });
    if (!posted)
      call->answer(unavailable("no thread could be started; raise the limit of processes (ulimit -u)")
                       .with_key(display_name(key)));
  }

  const std::string shown_root_;
  const std::shared_ptr<Core> core_;
  IoThreads threads_;
};

}  // namespace

std::shared_ptr<Store> local_store(std::string root, LocalOptions options) {
  return std::make_shared<LocalStore>(std::move(root), options);
}

}  // namespace forebay
