#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "forebay/batch.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/shared_loader.h"
#include "serve/server/server.h"

namespace forebay::serve_test {

/// A temporary folder with a .npy file whose row i begins with i.
class Data {
 public:
  explicit Data(int64_t rows = 100, int64_t width = 5) {
    std::string name = (std::filesystem::temp_directory_path() / "serve_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = name;
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
  ~Data() { std::filesystem::remove_all(folder_); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  std::string npy() const { return folder_ + "/x.npy"; }
  std::string socket() const { return folder_ + "/s.sock"; }
  Pipeline pipeline(int64_t batch = 7) const { return arrays({{"x", Array{{}, npy()}}}).shuffle().batch(batch); }

 private:
  std::string folder_;
};

/// Runs a server on a thread of the test.
class Running {
 public:
  explicit Running(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(30)) {
    ServerOptions options;
    options.path = path;
    options.patience = patience;
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
  Server& operator*() { return *server_; }

 private:
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

}  // namespace forebay::serve_test
