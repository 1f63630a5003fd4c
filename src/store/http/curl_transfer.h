#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/calls.h"
#include "store/http/connection_openings.h"
#include "store/http/http_transport.h"
#include "store/read_buffers.h"

namespace forebay {

class CurlLoop;

/// An easy handle, and the connection options that it was last configured for.
struct CurlHandle {
  CURL* easy = nullptr;
  std::shared_ptr<const HttpConnectionOptions> set_up_for;
};

/// One request in flight: configures an easy handle, and collects the answer in libcurl's
/// callbacks. Used on the loop's thread alone.
class CurlTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  CurlTransfer(HttpRequest request, std::shared_ptr<Call<HttpResponse>> call, CurlLoop& loop);

  /// Configures `handle` for this transfer and takes it. An error if libcurl refuses a setting.
  Status set_up(CurlHandle handle, CURLSH* share);
  CurlHandle take_handle() { return std::exchange(handle_, {}); }
  /// Whether the deadline of a transfer that starts again counts from its first start.
  enum class StartTime : uint8_t { kKeep, kReset };
  /// Discards everything received, so that the transfer can start again.
  void reset(StartTime start_time);

  Result<HttpResponse> result(CURLcode code);
  /// Returns an error if the transfer has exceeded a time limit at `now`.
  Status check_deadlines(Clock::time_point now) const;

  CURL* easy() const { return handle_.easy; }
  Call<HttpResponse>& call() const { return *call_; }
  const HttpRequest& request() const { return request_; }
  const std::string& origin() const { return origin_; }
  /// HTTP/2 is negotiated by TLS only.
  bool over_tls() const { return request_.url.starts_with("https:"); }
  ConnectionOpenings::Server server() const { return {origin_, options_.get()}; }
  /// Returns the local port of the connection that carries the transfer; 0 if there is none yet.
  int connection() const { return connection_; }
  // Reasons for which a callback ended the transfer before it was sent. The loop starts it again.

  /// Another transfer is looking the name up.
  bool waits_for_lookup = false;
  /// Another transfer is opening a connection that may have a free stream for it.
  bool waits_for_connection = false;
  bool lacks_descriptor = false;  ///< the process may not open another socket
  int descriptor_tries = 0;

 private:
  static size_t on_header(char* line, size_t size, size_t count, void* transfer);
  static size_t on_body(char* bytes, size_t size, size_t count, void* transfer);
  static size_t on_upload(char* bytes, size_t size, size_t count, void* transfer);
  static int on_seek(void* transfer, curl_off_t offset, int origin);
  static int on_connected(void* transfer, char*, char*, int, int);
  static int on_lookup(void* state, void*, void* transfer);
  static curl_socket_t on_open_socket(void* transfer, curlsocktype purpose, curl_sockaddr* address);

  void set_connection_options(const HttpConnectionOptions& options);
  void set_method();
  Status set_headers();
  bool posts_from_memory() const;
  bool has_header(std::string_view lower_case) const;
  bool header_line(std::string_view line);
  bool end_of_headers();
  bool take_body(const char* bytes, size_t size);
  bool room_for(size_t size);
  bool try_raise_body_limit(uint64_t size);
  Status no_connection() const;
  bool has_body() const;

  HttpRequest request_;
  const std::shared_ptr<const HttpConnectionOptions> options_;
  const std::shared_ptr<Call<HttpResponse>> call_;
  CurlLoop& loop_;
  const std::string origin_;
  CurlHandle handle_;
  std::vector<std::string> header_lines_;
  std::vector<curl_slist> header_list_;
  char detail_[CURL_ERROR_SIZE] = {};

  HttpResponse response_;
  int64_t announced_ = -1;  ///< announced size of the body; -1 if unknown
  int connection_ = 0;
  size_t header_bytes_ = 0, received_ = 0, uploaded_ = 0;
  Status failure_;  ///< reason for which a callback ended the transfer
  Clock::time_point started_{}, connected_{}, last_byte_{};
};

}  // namespace forebay
