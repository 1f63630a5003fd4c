// How should local files be read? CPU and wall time per file for the four ways there are, warm and cold.
//
//   bench_local_read FOLDER [FILES=700] [ROUNDS=7]
//
// Takes the FILES largest files of FOLDER. Every way reads all of them in every round, ways interleaved, and must give the
// same bytes (a hash over all files, in order, taken outside the timed part of a first round). Printed: median over the
// rounds [lowest .. highest]. "cold" drops the files' pages first (POSIX_FADV_DONTNEED), so the device, or what a virtual
// machine puts in its place, is asked.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FOREBAY_HAS_URING
#include <liburing.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/local/local_store.h"
#include "store/read_buffers.h"
#include "telemetry/step_counters.h"

namespace {

using namespace forebay;

struct File {
  std::string path;
  uint64_t size;
};
using Files = std::vector<File>;
using Sink = std::function<void(size_t, const Buffer&)>;  // gets every file once; empty in timed rounds

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

ReadRequest request_of(const File& file) {
  ReadRequest request;
  request.key = file.path;
  request.expected_size = file.size;
  return request;
}

/// (a) open, fstat, pread, close on the thread that wants the bytes; it waits where the page cache does not have them.
void read_blocking(const Files& files, ReadBuffers* buffers, const Sink& sink) {
  for (size_t i = 0; i < files.size(); ++i) {
    const int fd = ::open(files[i].path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || ::fstat(fd, &info) != 0) fail(files[i].path);
    Buffer buffer = buffers ? buffers->acquire(files[i].size).value() : Buffer::allocate(files[i].size);
    if (::pread(fd, buffer.data(), buffer.size(), 0) != static_cast<ssize_t>(buffer.size())) fail(files[i].path);
    ::close(fd);
    if (sink) sink(i, buffer);
  }
}

/// (b) Store::read_now: the same, but never waiting.
void read_now(const Files& files, Store& store, const Sink& sink) {
  for (size_t i = 0; i < files.size(); ++i) {
    auto answer = store.read_now(request_of(files[i]));
    if (!answer || !answer->ok()) fail("not cached, or no such reads here: " + files[i].path);
    if (sink) sink(i, **answer);
  }
}

/// (c) Store::read: handed to the store's threads, `depth` at a time.
void read_handed_off(const Files& files, Store& store, int depth, const Sink& sink) {
  std::counting_semaphore<> slots(depth);
  for (size_t i = 0; i < files.size(); ++i) {
    slots.acquire();
    store.read(request_of(files[i]), {}, [&, i](Result<Buffer> answer) {
      if (!answer.ok()) fail(answer.status().to_string());
      if (sink) sink(i, *answer);
      slots.release();
    });
  }
  for (int i = 0; i < depth; ++i) slots.acquire();
}

#ifdef FOREBAY_HAS_URING
/// (d) io_uring: open, read and close as requests of the ring, `depth` files at a time, driven by the calling thread.
class UringReader {
 public:
  explicit UringReader(unsigned depth) : depth_(depth), slots_(depth), buffers_(ReadBuffers::make(64 << 20)) {
    if (io_uring_queue_init(depth * 2, &ring_, 0) != 0) fail("no io_uring here");
  }
  ~UringReader() { io_uring_queue_exit(&ring_); }

  void read(const Files& files, const Sink& sink) {
    size_t next = 0, done = 0;
    for (size_t s = 0; s < depth_ && next < files.size(); ++s) open(s, next++, files);
    while (done < files.size()) {
      io_uring_cqe* cqe = nullptr;
      if (io_uring_submit_and_wait(&ring_, 1) < 0) fail("io_uring_enter");
      while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
        const uint64_t tag = io_uring_cqe_get_data64(cqe);
        const int result = cqe->res;
        io_uring_cqe_seen(&ring_, cqe);
        if (tag == kClose) continue;
        Slot& slot = slots_[tag];
        if (result < 0) fail(files[slot.file].path);
        if (slot.fd < 0) {
          slot.fd = result;
          read_rest(tag);
        } else if ((slot.done += static_cast<size_t>(result)) < slot.buffer.size()) {
          if (result == 0) fail("short: " + files[slot.file].path);
          read_rest(tag);
        } else {
          io_uring_sqe* close_request = io_uring_get_sqe(&ring_);
          io_uring_prep_close(close_request, slot.fd);
          io_uring_sqe_set_data64(close_request, kClose);
          if (sink) sink(slot.file, slot.buffer);
          ++done;
          if (next < files.size()) open(tag, next++, files);
        }
      }
    }
    io_uring_submit(&ring_);
  }

 private:
  static constexpr uint64_t kClose = UINT64_MAX;
  struct Slot {
    size_t file = 0;
    int fd = -1;
    size_t done = 0;
    Buffer buffer;
  };
  void open(uint64_t s, size_t file, const Files& files) {
    slots_[s] = {file, -1, 0, buffers_->acquire(files[file].size).value()};
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_openat(sqe, AT_FDCWD, files[file].path.c_str(), O_RDONLY | O_CLOEXEC, 0);
    io_uring_sqe_set_data64(sqe, s);
  }
  void read_rest(uint64_t s) {
    Slot& slot = slots_[s];
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_read(sqe, slot.fd, slot.buffer.data() + slot.done,
                       static_cast<unsigned>(slot.buffer.size() - slot.done), slot.done);
    io_uring_sqe_set_data64(sqe, s);
  }

  const unsigned depth_;
  std::vector<Slot> slots_;
  std::shared_ptr<ReadBuffers> buffers_;
  io_uring ring_{};
};
#endif

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Way {
  std::string name;
  std::function<void(const Sink&)> run;
  std::vector<double> cpu_us, wall_us;
};

std::string spread(std::vector<double> values) {
  std::ranges::sort(values);
  return fmt::format("{:8.1f} [{:.1f} .. {:.1f}]", values[values.size() / 2], values.front(), values.back());
}

void drop_pages(const Files& files) {
  for (const File& file : files) {
    const int fd = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  }
}

void measure(std::vector<Way>& ways, const Files& files, int rounds, bool cold) {
  const auto count = static_cast<double>(files.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t w = 0; w < ways.size(); ++w) {
      Way& way = ways[(w + static_cast<size_t>(round)) % ways.size()];  // nobody always comes first
      if (cold) drop_pages(files);
      const double cpu = process_cpu_seconds();
      const int64_t begin = monotonic_ns();
      way.run({});
      way.wall_us.push_back(static_cast<double>(monotonic_ns() - begin) * 1e-3 / count);
      way.cpu_us.push_back((process_cpu_seconds() - cpu) * 1e6 / count);
    }
  }
}

void check_equal(std::vector<Way>& ways, const Files& files) {
  std::string expected;
  for (Way& way : ways) {
    std::vector<Hash128> hashes(files.size());
    way.run([&](size_t i, const Buffer& bytes) { hashes[i] = hash128(bytes.data(), bytes.size()); });
    const std::string all = hash128(hashes.data(), hashes.size() * sizeof(Hash128)).to_string();
    if (expected.empty()) expected = all;
    if (all != expected) fail(way.name + " read other bytes");
  }
  fmt::print("content of all files, every way: {}\n\n", expected);
}

void print_table(const char* title, const std::vector<Way>& ways, double mean_bytes) {
  fmt::print("{}\n| way | CPU us per read | wall us per read | MB/s |\n|---|---|---|---|\n", title);
  for (const Way& way : ways) {
    auto wall = way.wall_us;
    std::ranges::sort(wall);
    fmt::print("| {} | {} | {} | {:.0f} |\n", way.name, spread(way.cpu_us), spread(way.wall_us),
               mean_bytes / wall[wall.size() / 2]);
  }
  fmt::print("\n");
}

Files largest_files(const std::string& folder, size_t count) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back({entry.path().string(), entry.file_size()});
  }
  std::ranges::sort(files,
                    [](const File& a, const File& b) { return a.size != b.size ? a.size > b.size : a.path < b.path; });
  files.resize(std::min(files.size(), count));
  std::ranges::sort(files, {},
                    [](const File& file) { return hash128(file.path).low; });  // as shuffled as training reads
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: bench_local_read FOLDER [FILES=700] [ROUNDS=7]");
  const Files files = largest_files(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 700);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
  if (files.empty() || rounds < 1) fail("nothing to read");
  uint64_t bytes = 0;
  for (const File& file : files) bytes += file.size;
  const double mean_bytes = static_cast<double>(bytes) / static_cast<double>(files.size());
  fmt::print("{} files, {:.0f} bytes on average, {} rounds\n", files.size(), mean_bytes, rounds);

  const auto buffers = ReadBuffers::make(8 << 20);
  const auto store = local_store("");
  const auto store4 = local_store("", {.io_threads = 4});
  const auto store64 = local_store("", {.io_threads = 64});
  std::vector<Way> warm, cold;
  const auto both = [&](std::string name, std::function<void(const Sink&)> run) {
    warm.push_back({name, run, {}, {}});
    cold.push_back({std::move(name), std::move(run), {}, {}});
  };
  both("(a) pread, memory from malloc", [&](const Sink& sink) { read_blocking(files, nullptr, sink); });
  both("(a) pread, recycled memory", [&](const Sink& sink) { read_blocking(files, buffers.get(), sink); });
  warm.push_back({"(b) read_now", [&](const Sink& sink) { read_now(files, *store, sink); }, {}, {}});
  for (const int depth : {1, 16, 64}) {
    both(fmt::format("(c) 4 I/O threads, depth {}", depth),
         [&, depth](const Sink& s) { read_handed_off(files, *store4, depth, s); });
    both(fmt::format("(c) 16 I/O threads, depth {}", depth),
         [&, depth](const Sink& s) { read_handed_off(files, *store, depth, s); });
    if (depth == 64)
      both("(c) 64 I/O threads, depth 64", [&](const Sink& s) { read_handed_off(files, *store64, 64, s); });
#ifdef FOREBAY_HAS_URING
    const auto ring = std::make_shared<UringReader>(static_cast<unsigned>(depth));
    both(fmt::format("(d) io_uring, depth {}", depth), [&files, ring](const Sink& sink) { ring->read(files, sink); });
#endif
  }
  check_equal(warm, files);
  measure(warm, files, rounds, false);
  print_table("Warm page cache", warm, mean_bytes);
  measure(cold, files, rounds, true);
  print_table("Cold (pages dropped before each run)", cold, mean_bytes);
  return 0;
}
