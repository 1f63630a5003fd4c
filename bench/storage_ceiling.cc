// The stand's ceiling: as many signed GETs a second as one thread with libcurl's multi interface gets out of a gateway,
// with nothing done to what arrives. What a loader reaches is held against it. bench/storage/storage.py runs it.
//
//   bench_storage_ceiling KEYS REQUESTS READS LIMIT_S
//
// KEYS: a file with a URL a line, escaped as it is to be sent. REQUESTS: how many in flight. READS: how many in all, after
// half as many (4 a request at most) that do not count. LIMIT_S: ends before that. Credentials: AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY.
#include <curl/curl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

struct Figures {
  long reads = 0;
  long failed = 0;
  long bytes = 0;
  double seconds = 0;
  double cpu_s = 0;
};

class Ceiling {
 public:
  Ceiling(std::vector<std::string> urls, int requests)
      : urls_(std::move(urls)), requests_(requests), multi_(curl_multi_init()) {
    const char* key = std::getenv("AWS_ACCESS_KEY_ID");
    const char* secret = std::getenv("AWS_SECRET_ACCESS_KEY");
    credentials_ = std::string(key != nullptr ? key : "") + ":" + (secret != nullptr ? secret : "");
    // Without this header the gateway refuses what libcurl signs.
    headers_ = curl_slist_append(nullptr, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, static_cast<long>(requests));
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(requests));
  }

  Ceiling(const Ceiling&) = delete;
  Ceiling& operator=(const Ceiling&) = delete;

  ~Ceiling() {
    for (CURL* easy : easies_) {
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
    }
    curl_multi_cleanup(multi_);
    curl_slist_free_all(headers_);
  }

  // Keeps `requests` in flight; what arrived after the warm-up is counted.
  Figures run(long warm_up, long reads, double limit_s) {
    for (int i = 0; i < requests_; ++i) start(make());
    while (done_ < warm_up) turn();
    const double began_s = now_s();
    const double began_cpu_s = cpu_s();
    counted_ = {};
    while (counted_.reads < reads && counted_.failed <= kFailures && now_s() - began_s < limit_s) turn();
    counted_.seconds = now_s() - began_s;
    counted_.cpu_s = cpu_s() - began_cpu_s;
    return counted_;
  }

 private:
  static constexpr long kFailures = 100;

  static size_t drop(char*, size_t size, size_t count, void*) { return size * count; }

  CURL* make() {
    CURL* easy = curl_easy_init();
    easies_.push_back(easy);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 262144L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:s3");
    curl_easy_setopt(easy, CURLOPT_USERPWD, credentials_.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
    return easy;
  }

  void start(CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_URL, urls_[next_++ % urls_.size()].c_str());
    curl_multi_add_handle(multi_, easy);
  }

  void turn() {
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) finish(*message);
    curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
  }

  void finish(const CURLMsg& message) {
    CURL* easy = message.easy_handle;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    const bool good = message.data.result == CURLE_OK && status == 200;
    curl_off_t bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &bytes);
    ++done_;
    (good ? counted_.reads : counted_.failed) += 1;
    if (good) counted_.bytes += static_cast<long>(bytes);
    if (!good) std::fprintf(stderr, "HTTP %ld, %s\n", status, curl_easy_strerror(message.data.result));
    curl_multi_remove_handle(multi_, easy);
    start(easy);
  }

  std::vector<std::string> urls_;
  int requests_;
  CURLM* multi_;
  std::string credentials_;
  curl_slist* headers_ = nullptr;
  std::vector<CURL*> easies_;
  size_t next_ = 0;
  long done_ = 0;
  Figures counted_;
};

std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s KEYS REQUESTS READS LIMIT_S   (bench/storage/storage.py runs it)\n", arguments[0]);
    return 2;
  }
  curl_global_init(CURL_GLOBAL_ALL);
  auto urls = read_lines(arguments[1]);
  const int requests = std::atoi(arguments[2]);
  const long reads = std::atol(arguments[3]);
  const double limit_s = std::atof(arguments[4]);
  if (urls.empty() || requests < 1 || reads < 1 || limit_s <= 0) {
    std::fprintf(stderr, "%s: no URLs, or not a number from 1\n", arguments[1]);
    return 2;
  }
  const auto figures = Ceiling(std::move(urls), requests).run(std::min(reads / 2, 4L * requests), reads, limit_s);
  std::printf(
      "{\"requests\": %d, \"reads\": %ld, \"failed\": %ld, \"bytes\": %ld, \"seconds\": %.4f, \"cpu_s\": %.3f, "
      "\"version\": \"%s\"}\n",
      requests, figures.reads, figures.failed, figures.bytes, figures.seconds, figures.cpu_s, curl_version());
  return figures.failed == 0 ? 0 : 1;
}
