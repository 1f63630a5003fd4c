// What does a record of 10 KB from materialised files cost, shuffled, out of the page cache? Forebay's loader beside bare loops.
//
//   bench_records FOLDER [RECORDS=150000] [ROUNDS=7] [THREADS=2]
//
// Writes RECORDS random rows to FOLDER/records.npy and materialises them to FOLDER/made, once. In every round each way, in turning
// order, gives batches of 64 records, each record once, in an order of its own: the loader; threads that take batches of a shuffled list and
// `pread` each record into the batch; the same with copies out of a mapping. In a first round each gives the sum of the hashes of all records, which
// must be that of the others. Printed: median microseconds a record [lowest .. highest], by the wall and of CPU time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "forebay/loader.h"
#include "forebay/materialize.h"
#include "forebay/pipeline.h"

namespace {

using namespace forebay;

constexpr size_t kRecordBytes = 10'000, kBatch = 64, kHeaderBytes = 128;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.status().to_string());
  return std::move(*result);
}

uint64_t hash_of(const uint8_t* record) { return hash128(record, kRecordBytes).low; }

struct Data {
  std::string npy, made;
  size_t records;
};

Data make_data(const std::string& folder, size_t records) {
  std::filesystem::create_directories(folder);
  Data data{folder + "/records.npy", folder + "/made", records};
  std::string header =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}), }}", records, kRecordBytes);
  header.resize(kHeaderBytes - 10 - 1, ' ');
  header += '\n';
  if (!std::filesystem::exists(data.npy) ||
      std::filesystem::file_size(data.npy) != kHeaderBytes + records * kRecordBytes) {
    std::filesystem::remove_all(data.made);
    std::FILE* file = std::fopen(data.npy.c_str(), "wb");
    if (file == nullptr) fail(data.npy);
    const char lead[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size()), 0};
    std::fwrite(lead, 1, sizeof lead, file);
    std::fwrite(header.data(), 1, header.size(), file);
    std::mt19937_64 draw(1);
    std::vector<uint64_t> record(kRecordBytes / 8);
    for (size_t i = 0; i < records; ++i) {
      for (uint64_t& word : record) word = draw();
      std::fwrite(record.data(), 1, kRecordBytes, file);
    }
    if (std::fclose(file) != 0) fail("could not write " + data.npy);
  }
  MaterializeOptions options;
  options.cut = "last";
  must(materialize(arrays({{"record", Array{.values = {}, .path = data.npy}}}), data.made, options));
  return data;
}

/// Gets every batch's records: address and number.
using Sink = std::function<void(const uint8_t*, size_t)>;

void through_the_loader(const Data& data, int threads, uint64_t seed, const Sink& sink) {
  static std::unique_ptr<Loader> loader;  // one for all rounds, as in a training
  if (!loader) {
    LoaderOptions options;
    options.resources.threads = threads;
    options.seed = seed;
    loader = must(Loader::open(materialized(data.made).shuffle().batch(kBatch), options));
  }
  for (size_t given = 0; given < data.records;) {
    const auto batch = must(loader->next());
    if (!batch) fail("the epoch ended early");
    const auto rows = static_cast<size_t>(batch->size());
    sink(batch->find("record")->values.data<uint8_t>(), rows);
    given += rows;
  }
  if (must(loader->next())) fail("the epoch had too many records");
}

void bare(const Data& data, int threads, uint64_t seed, const Sink& sink, const uint8_t* mapping) {
  const int file = ::open(data.npy.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(data.npy);
  std::vector<size_t> order(data.records);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> lock = 0;
  std::vector<std::thread> pool;
  for (int thread = 0; thread < threads; ++thread)
    pool.emplace_back([&] {
      // Several batches in turn, as a consumer holds some while others are filled.
      std::vector<std::vector<uint8_t>> batches(4, std::vector<uint8_t>(kBatch * kRecordBytes));
      for (size_t number = 0, begin; (begin = next.fetch_add(kBatch)) < order.size(); ++number) {
        uint8_t* const batch = batches[number % batches.size()].data();
        const size_t rows = std::min(kBatch, order.size() - begin);
        for (size_t row = 0; row < rows; ++row) {
          const size_t at = kHeaderBytes + order[begin + row] * kRecordBytes;
          uint8_t* const to = batch + row * kRecordBytes;
          if (mapping != nullptr) {
            std::memcpy(to, mapping + at, kRecordBytes);
          } else if (::pread(file, to, kRecordBytes, static_cast<off_t>(at)) != static_cast<ssize_t>(kRecordBytes)) {
            fail("pread");
          }
        }
        if (!sink) continue;
        while (lock.exchange(1) != 0) std::this_thread::yield();
        sink(batch, rows);
        lock = 0;
      }
    });
  for (std::thread& thread : pool) thread.join();
  ::close(file);
}

double cpu_seconds() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return fmt::format("{:.2f} [{:.2f} .. {:.2f}]", values[values.size() / 2], values.front(), values.back());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("bench_records FOLDER [RECORDS=150000] [ROUNDS=7] [THREADS=2]");
  const size_t records = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 150'000;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7, threads = argc > 4 ? std::atoi(argv[4]) : 2;
  const Data data = make_data(argv[1], records);
  const int file = ::open(data.npy.c_str(), O_RDONLY | O_CLOEXEC);
  const size_t bytes = kHeaderBytes + records * kRecordBytes;
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  if (mapping == MAP_FAILED) fail("mmap");
  struct Way {
    std::string name;
    std::function<void(uint64_t, const Sink&)> run;
    std::vector<double> wall, cpu;
  };
  std::vector<Way> ways{
      {"forebay", [&](uint64_t seed, const Sink& sink) { through_the_loader(data, threads, seed, sink); }, {}, {}},
      {"pread", [&](uint64_t seed, const Sink& sink) { bare(data, threads, seed, sink, nullptr); }, {}, {}},
      {"copies",
       [&](uint64_t seed, const Sink& sink) { bare(data, threads, seed, sink, static_cast<const uint8_t*>(mapping)); },
       {},
       {}}};
  // The folder's files go into the page cache before anything is opened.
  std::vector<char> into(1 << 20);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data.made)) {
    if (std::FILE* shard = entry.is_regular_file() ? std::fopen(entry.path().c_str(), "rb") : nullptr) {
      while (std::fread(into.data(), 1, into.size(), shard) > 0) {
      }
      std::fclose(shard);
    }
  }
  std::vector<uint64_t> sums;
  for (Way& way : ways) {
    uint64_t sum = 0, count = 0;
    way.run(0, [&](const uint8_t* batch, size_t rows) {
      for (size_t row = 0; row < rows; ++row) sum += hash_of(batch + row * kRecordBytes);
      count += rows;
    });
    if (count != records) fail(fmt::format("{} gave {} of {} records", way.name, count, records));
    sums.push_back(sum);
  }
  if (sums[0] != sums[1] || sums[0] != sums[2]) fail("the ways gave other records");
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[(i + static_cast<size_t>(round)) % ways.size()];
      const double cpu = cpu_seconds();
      const auto begun = std::chrono::steady_clock::now();
      way.run(static_cast<uint64_t>(round) + 1, [](const uint8_t*, size_t) {});
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
      way.wall.push_back(1e6 * seconds.count() / static_cast<double>(records));
      way.cpu.push_back(1e6 * (cpu_seconds() - cpu) / static_cast<double>(records));
    }
  }
  fmt::print("{} records of {} bytes, {} threads, {} rounds; all gave the same records\n", records, kRecordBytes,
             threads, rounds);
  for (const Way& way : ways) fmt::print("{:8} {} us a record, CPU {}\n", way.name, spread(way.wall), spread(way.cpu));
  return 0;
}
