// What does a request over HTTP cost? Requests per second and CPU seconds per 1,000 of them, by requests in flight.
//
//   bench_http_read URL [SECONDS=2] [IN_FLIGHT=1,4,16,64,256,1024] [CA_FILE]
//
// "{}" in the URL becomes a number from 0 to 999. Every answer is read whole, and each URL must give the same bytes each time
// (a hash); an error ends the run. CPU time is that of this process, so of a server in another one it says nothing.
// The first line is the transport alone, without retries, pins and checks.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "store/http/curl_transport.h"
#include "store/http/http_store.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;
using Answer = std::function<void(Result<Buffer>)>;
using Fetch = std::function<void(const std::string& url, Answer answer)>;

constexpr size_t kObjects = 1000;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Keeps `in_flight` requests going until the time is over.
class Run {
 public:
  Run(std::vector<std::string> urls, Fetch fetch, size_t in_flight, double seconds)
      : urls_(std::move(urls)), fetch_(std::move(fetch)),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {
    const double cpu = cpu_seconds();
    const auto begin = Clock::now();
    running_ = in_flight;
    for (size_t i = 0; i < in_flight; ++i) next();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto count = static_cast<double>(times_ms_.size());
    std::ranges::sort(times_ms_);
    fmt::print("{:>9}{:>12.0f}{:>10.1f}{:>10.2f}{:>10.2f}{:>16.3f}\n", in_flight, count / took,
               static_cast<double>(bytes_) / took / 1e6, times_ms_[times_ms_.size() / 2],
               times_ms_[times_ms_.size() * 99 / 100], (cpu_seconds() - cpu) / count * 1000);
  }

 private:
  void next() {
    const size_t object = issued_.fetch_add(1) * 7919 % urls_.size();
    fetch_(urls_[object],
           [this, object, begin = Clock::now()](Result<Buffer> result) { arrived(object, begin, std::move(result)); });
  }
  void arrived(size_t object, Clock::time_point begin, Result<Buffer> result) {
    if (!result.ok()) {
      fmt::print(stderr, "{}\n", result.status().to_string());
      std::_Exit(1);
    }
    check(object, *result);
    const auto now = Clock::now();
    std::unique_lock lock(mutex_);
    bytes_ += result->size();
    times_ms_.push_back(std::chrono::duration<double, std::milli>(now - begin).count());
    if (now >= end_) {
      if (--running_ == 0) done_.notify_one();
      return;
    }
    lock.unlock();
    next();
  }
  /// Sixteen bytes of each kilobyte: a hash of everything would be part of the figure.
  void check(size_t object, const Buffer& bytes) {
    uint64_t sum = bytes.size() + 1;
    for (size_t i = 0; i + 16 <= bytes.size(); i += 1024) sum = sum * 31 + hash128(bytes.data() + i, 16).low;
    uint64_t expected = 0;
    if (seen()[object].compare_exchange_strong(expected, sum) || expected == sum) return;
    fmt::print(stderr, "{}: other bytes than before\n", urls_[object]);
    std::_Exit(1);
  }
  static std::array<std::atomic<uint64_t>, kObjects>& seen() {
    static std::array<std::atomic<uint64_t>, kObjects> sums{};
    return sums;
  }

  const std::vector<std::string> urls_;
  const Fetch fetch_;
  const Clock::time_point end_;
  std::atomic<size_t> issued_{0};
  std::mutex mutex_;
  std::condition_variable done_;
  size_t running_ = 0;
  uint64_t bytes_ = 0;
  std::vector<double> times_ms_;
};

std::vector<std::string> urls_of(const std::string& pattern) {
  std::vector<std::string> urls;
  const size_t place = pattern.find("{}");
  if (place == std::string::npos) return {pattern};
  for (size_t i = 0; i < kObjects; ++i)
    urls.push_back(pattern.substr(0, place) + std::to_string(i) + pattern.substr(place + 2));
  return urls;
}

std::vector<size_t> numbers(const std::string& list) {
  std::vector<size_t> out;
  for (size_t begin = 0; begin < list.size(); begin = std::min(list.find(',', begin), list.size() - 1) + 1) {
    out.push_back(std::strtoul(list.c_str() + begin, nullptr, 10));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "bench_http_read URL [SECONDS] [IN_FLIGHT,...] [CA_FILE]\n");
    return 2;
  }
  const auto urls = urls_of(argv[1]);
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  const auto depths = numbers(argc > 3 ? argv[3] : "1,4,16,64,256,1024");
  HttpConnectionOptions connection;
  if (argc > 4) connection.ca_file = argv[4];
  HttpOptions options;
  options.connection = std::make_shared<const HttpConnectionOptions>(connection);
  const auto transport = curl_transport();
  const auto store = http_store(options, {}, transport);
  const Fetch plain = [&](const std::string& url, Answer answer) {
    HttpRequest request;
    request.url = url;
    request.connection = options.connection;
    transport->send(std::move(request), {}, [answer = std::move(answer)](Result<HttpResponse> response) {
      answer(response.ok() ? Result<Buffer>(std::move(response->body)) : Result<Buffer>(response.status()));
    });
  };
  const Fetch whole = [&](const std::string& url, Answer answer) {
    ReadRequest request;
    request.key = url;
    store->read(request, {}, std::move(answer));
  };
  for (const auto& [name, fetch] : {std::pair{"transport", plain}, std::pair{"store", whole}}) {
    fmt::print("{}\n{:>9}{:>12}{:>10}{:>10}{:>10}{:>16}\n", name, "in flight", "requests/s", "MB/s", "p50 ms", "p99 ms",
               "CPU s per 1,000");
    for (const size_t depth : depths) Run(urls, fetch, depth, seconds);
  }
  return 0;
}
