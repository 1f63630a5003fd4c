#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/eventually_test_support.h"
#include "forebay/batch.h"
#include "forebay/forebay.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/shared_loader.h"
#include "serve/server/server.h"

namespace forebay::serve_test {

/// A temporary folder.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "serve_test_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder for the test");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A temporary folder that is $XDG_RUNTIME_DIR while it exists.
class RuntimeFolder {
 public:
  RuntimeFolder() {
    if (const char* const set = std::getenv("XDG_RUNTIME_DIR")) before_ = set;
    setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  }
  ~RuntimeFolder() {
    if (before_)
      setenv("XDG_RUNTIME_DIR", before_->c_str(), 1);
    else
      unsetenv("XDG_RUNTIME_DIR");
  }
  std::string sockets() const { return folder_.path() + "/forebay"; }
  std::string path() const { return folder_.path(); }

 private:
  Folder folder_;
  std::optional<std::string> before_;
};

/// A temporary folder with a .npy file whose row i begins with i.
class Data {
 public:
  explicit Data(int64_t rows = 100, int64_t width = 5) {
    std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                         std::to_string(width) + "), }";
    header.resize(117, ' ');
    header += '\n';
    std::ofstream file(npy(), std::ios::binary);
    file.write("\x93NUMPY\x01\x00v\x00", 10);
    file << header;
    for (int64_t i = 0; i < rows * width; ++i) {
      const int64_t value = i % width == 0 ? i / width : i * 1'000'003;
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }

  const std::string& folder() const { return folder_.path(); }
  std::string npy() const { return folder() + "/x.npy"; }
  std::string socket() const { return folder() + "/s.sock"; }
  Pipeline pipeline(int64_t batch = 7) const { return arrays({{"x", Array{{}, npy()}}}).shuffle().batch(batch); }

 private:
  Folder folder_;
};

/// Runs a server on a thread of the test.
class Running {
 public:
  explicit Running(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(30))
      : Running(options_at(path, patience)) {}
  explicit Running(ServerOptions options) {
    Result<std::unique_ptr<Server>> made = Server::open(std::move(options));
    if (!made.ok()) throw std::runtime_error(made.status().to_string());
    server_ = std::move(*made);
    thread_ = std::thread([this] { (void)server_->run(stop_.get_token()); });
  }
  ~Running() { stop(); }
  void stop() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  /// Waits until the server ends by itself.
  void join() { thread_.join(); }
  Server& operator*() { return *server_; }

 private:
  static ServerOptions options_at(const std::string& path, std::chrono::milliseconds patience) {
    ServerOptions options;
    options.path = path;
    options.patience = patience;
    return options;
  }

  std::unique_ptr<Server> server_;
  std::stop_source stop_;
  std::thread thread_;
};

inline std::unique_ptr<SharedLoader> shared(const Data& data, const Pipeline& pipeline, LoaderOptions options = {},
                                            int together = 0) {
  auto loader = SharedLoader::open(pipeline, std::move(options), {data.socket(), together, {}});
  if (!loader.ok()) throw std::runtime_error(loader.status().to_string());
  return std::move(*loader);
}

template <typename L>
std::vector<Batch> epoch_of(L& loader) {
  std::vector<Batch> batches;
  while (true) {
    Result<std::optional<Batch>> batch = loader.next();
    if (!batch.ok()) throw std::runtime_error(batch.status().to_string());
    if (!*batch) return batches;
    batches.push_back(std::move(**batch));
  }
}

inline std::string digest_of(const std::vector<Batch>& batches) {
  EpochDigest digest;
  for (const Batch& batch : batches) digest.add(batch);
  return digest.to_string();
}

inline Result<std::shared_ptr<Loader>> open_loader(const Pipeline& pipeline, LoaderOptions options = {}) {
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, std::move(options)));
  return std::shared_ptr<Loader>(std::move(loader));
}

}  // namespace forebay::serve_test
