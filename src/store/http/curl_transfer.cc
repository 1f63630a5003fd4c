#include "store/http/curl_transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "store/http/curl_error.h"
#include "store/http/curl_loop.h"
#include "store/http/curl_trust.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

constexpr size_t kMaxHeaderBytes = 256 << 10;
constexpr size_t kUsualHeaders = 16;  // in an object store's answer
// A server that announces more gets memory only as the bytes come.
constexpr uint64_t kTrustedBytes = 64 << 20;
// libcurl sends a body below this size together with the headers, if it has all of it.
constexpr size_t kSmallBody = 64 << 10;

std::shared_ptr<const HttpConnectionOptions> or_default(const std::shared_ptr<const HttpConnectionOptions>& options) {
  static const auto defaults = std::make_shared<const HttpConnectionOptions>();
  return options ? options : defaults;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return text;
}

bool breaks_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

double in_seconds(int ms) { return ms / 1000.0; }

}  // namespace

CurlTransfer::CurlTransfer(HttpRequest request, std::shared_ptr<Call<HttpResponse>> call, CurlLoop& loop)
    : request_(std::move(request)), options_(or_default(request_.connection)), call_(std::move(call)), loop_(loop),
      origin_(host_and_port(request_.url)) {}

Status CurlTransfer::set_up(CurlHandle handle, CURLSH* share) {
  handle_ = std::move(handle);
  CURL* const easy = handle_.easy;
  if (handle_.set_up_for != options_) {
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_SHARE, share);
    set_connection_options(*options_);
    handle_.set_up_for = options_;
  }
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, this);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  int connect_ms = options_->connect_timeout_ms;
  if (request_.first_byte_within_ms > 0) connect_ms = std::min(connect_ms, request_.first_byte_within_ms);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max(connect_ms, 1)));
  set_method();
  if (curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str()) != CURLE_OK)
    return out_of_budget("no memory for a URL", 0);
  FOREBAY_RETURN_IF_ERROR(set_headers());
  if (started_ == Clock::time_point{}) started_ = Clock::now();
  return {};
}

Status CurlTransfer::set_headers() {
  header_lines_.clear();
  header_lines_.reserve(request_.headers.size() + 2);
  for (const HttpHeader& header : request_.headers) {
    if (header.name.empty() || breaks_line(header.name) || breaks_line(header.value)) {
      return invalid_argument(fmt::format("the header '{}' holds a line break; take it out",
                                          trimmed(header.name.substr(0, header.name.find_first_of("\r\n")))));
    }
    std::string& line = header_lines_.emplace_back();
    line.reserve(header.name.size() + 2 + header.value.size());
    line.append(header.name).append(header.value.empty() ? ";" : ": ").append(header.value);
  }
  // Without a type, libcurl would declare the body to be a form.
  if (posts_from_memory() && !has_header("content-type")) header_lines_.emplace_back("Content-Type:");
  // Disables "Expect: 100-continue": servers that do not know it cost a wait of one second for each
  // body.
  header_lines_.emplace_back("Expect:");
  header_list_.resize(header_lines_.size());
  for (size_t i = 0; i < header_lines_.size(); ++i) {
    header_list_[i] = {header_lines_[i].data(), i + 1 < header_lines_.size() ? &header_list_[i + 1] : nullptr};
  }
  curl_easy_setopt(handle_.easy, CURLOPT_HTTPHEADER, header_list_.data());
  return {};
}

void CurlTransfer::set_connection_options(const HttpConnectionOptions& options) {
  CURL* const easy = handle_.easy;
  // libcurl must not use signals for timeouts, because the process has threads and handlers of its
  // own.
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for the name service
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  // Dots in a path are part of a key, and of what was signed.
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  // Logins are sent as headers that are made here; a login left in a URL would be sent in addition.
  curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "forebay");
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, static_cast<long>(options.receive_bytes));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
  curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, CurlLoop::on_close_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &loop_);
  set_trust(easy, options);
  // An empty text disables proxies, including those of the environment.
  if (options.direct || !options.proxy.empty())
    curl_easy_setopt(easy, CURLOPT_PROXY, options.direct ? "" : options.proxy.c_str());
}

void CurlTransfer::set_method() {
  CURL* const easy = handle_.easy;
  // A handle keeps its options between requests, so each is reset.
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, nullptr);
  curl_easy_setopt(easy, CURLOPT_NOBODY, 0L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 0L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, nullptr);
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  if (request_.method == "GET") return;
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request_.method == "DELETE") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
  } else if (posts_from_memory()) {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, reinterpret_cast<const char*>(request_.body.data()));
  } else {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  }
}

bool CurlTransfer::posts_from_memory() const {
  return request_.method == "POST" && !request_.body.empty() && request_.body.size() < kSmallBody;
}

bool CurlTransfer::has_header(std::string_view lower_case) const {
  return std::ranges::any_of(request_.headers, [&](const HttpHeader& header) {
    return std::ranges::equal(header.name, lower_case, {},
                              [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  });
}

void CurlTransfer::reset(StartTime start_time) {
  if (start_time == StartTime::kReset) started_ = {};
  waits_for_lookup = waits_for_connection = lacks_descriptor = false;
  connection_ = 0;
  response_ = {};
  announced_ = -1;
  header_bytes_ = received_ = uploaded_ = 0;
  failure_ = {};
  connected_ = last_byte_ = {};
  detail_[0] = '\0';
}

bool CurlTransfer::has_body() const {
  return request_.method != "HEAD" && response_.status >= 200 && response_.status != 204 && response_.status != 304;
}

size_t CurlTransfer::on_header(char* line, size_t size, size_t count, void* transfer) {
  const size_t bytes = size * count;
  return static_cast<CurlTransfer*>(transfer)->header_line({line, bytes}) ? bytes : 0;
}

bool CurlTransfer::header_line(std::string_view line) {
  last_byte_ = Clock::now();
  if (line.starts_with("HTTP/")) {  // also after a 100 (Continue)
    response_ = {};
    announced_ = -1;
    // libcurl makes "HTTP/2 200" from the binary frames.
    response_.major_version = line.starts_with("HTTP/2") ? 2 : 1;
    if (over_tls()) loop_.answered(this, response_.major_version);
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), response_.status);
    return true;
  }
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    failure_ = unsupported(fmt::format("{} sends more than {} KiB of headers", origin_, kMaxHeaderBytes >> 10));
    return false;
  }
  line = trimmed(line);
  if (line.empty()) return end_of_headers();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  HttpHeader header{std::string(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))};
  for (char& c : header.name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (header.name == "content-length") {
    int64_t length = -1;
    const auto [end, error] = std::from_chars(header.value.data(), header.value.data() + header.value.size(), length);
    // A malformed number announces nothing. The end of the connection then shows whether the body
    // is complete.
    if (error == std::errc() && length >= 0) announced_ = length;
  }
  if (response_.headers.empty()) response_.headers.reserve(kUsualHeaders);
  response_.headers.push_back(std::move(header));
  return true;
}

bool CurlTransfer::try_raise_body_limit(uint64_t size) {
  if (size <= request_.max_body_bytes) return true;
  // If the size was not announced, it is only known that there is more. Doubling keeps the number
  // of questions small.
  const uint64_t needed = announced_ > 0 ? size : std::max(size, 2 * std::min(request_.max_body_bytes, UINT64_MAX / 2));
  if (response_.status / 100 == 2 && request_.try_raise_body_limit && request_.try_raise_body_limit(needed)) {
    request_.max_body_bytes = needed;
    return true;
  }
  failure_ = unsupported(fmt::format("the answer of {} is too long: {} bytes or more, and {} are allowed", origin_,
                                     size, request_.max_body_bytes))
                 .with_bytes_needed(needed);
  return false;
}

bool CurlTransfer::end_of_headers() {
  // RFC 9112, section 6.3: it takes precedence over Content-Length.
  if (!response_.header("transfer-encoding").empty()) announced_ = -1;
  return !has_body() || announced_ <= 0 || try_raise_body_limit(static_cast<uint64_t>(announced_));
}

size_t CurlTransfer::on_body(char* bytes, size_t size, size_t count, void* transfer) {
  const size_t total = size * count;
  return static_cast<CurlTransfer*>(transfer)->take_body(bytes, total) ? total : 0;
}

bool CurlTransfer::take_body(const char* bytes, size_t size) {
  if (size == 0) return true;
  if (!room_for(received_ + size)) return false;
  std::memcpy(response_.body.data() + received_, bytes, size);
  received_ += size;
  last_byte_ = Clock::now();
  return true;
}

bool CurlTransfer::room_for(size_t size) {
  Buffer& body = response_.body;
  if (size <= body.size()) return true;
  if (!try_raise_body_limit(size)) return false;
  // Doubling bounds the total of copied bytes to about the answer's size.
  uint64_t wanted = std::max<uint64_t>({size, size_t{16} << 10, body.size() * 2});
  if (announced_ > 0 && body.empty()) {
    wanted = std::max<uint64_t>(
        size, std::min(static_cast<uint64_t>(announced_), std::max(kTrustedBytes, request_.expected_body_bytes)));
  } else if (body.empty() && response_.status / 100 == 2) {
    wanted = std::max<uint64_t>(wanted, std::min(request_.expected_body_bytes, request_.max_body_bytes));
  }
  if (announced_ > 0) wanted = std::max<uint64_t>(size, std::min(wanted, static_cast<uint64_t>(announced_)));
  auto larger = loop_.buffers().acquire(std::min(wanted, std::max<uint64_t>(request_.max_body_bytes, size)));
  if (!larger.ok()) {
    failure_ = larger.status();
    return false;
  }
  if (received_ > 0) std::memcpy(larger->data(), body.data(), received_);
  body = std::move(*larger);
  return true;
}

size_t CurlTransfer::on_upload(char* bytes, size_t size, size_t count, void* transfer) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  const size_t part = std::min(size * count, self.request_.body.size() - self.uploaded_);
  if (part > 0) std::memcpy(bytes, self.request_.body.data() + self.uploaded_, part);
  self.uploaded_ += part;
  // Waiting for the answer counts from the end of the request.
  self.connected_ = Clock::now();
  return part;
}

int CurlTransfer::on_seek(void* transfer, curl_off_t offset, int origin) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  if (origin != SEEK_SET || offset < 0 || static_cast<uint64_t>(offset) > self.request_.body.size())
    return CURL_SEEKFUNC_FAIL;
  // libcurl sends a body again if a reused connection turned out to be closed.
  self.uploaded_ = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int CurlTransfer::on_connected(void* transfer, char*, char*, int, int local_port) {
  auto* const self = static_cast<CurlTransfer*>(transfer);
  self->connected_ = Clock::now();
  self->connection_ = local_port;
  if (self->over_tls()) self->loop_.connected(self);
  return CURL_PREREQFUNC_OK;
}

int CurlTransfer::on_lookup(void*, void*, void* transfer) {
  auto* self = static_cast<CurlTransfer*>(transfer);
  // Returning 1 ends this transfer. wait_for_lookup() starts it again when the name is known.
  return self->loop_.try_begin_lookup(self) ? 0 : 1;
}

curl_socket_t CurlTransfer::on_open_socket(void* transfer, curlsocktype, curl_sockaddr* address) {
  auto* self = static_cast<CurlTransfer*>(transfer);
  self->loop_.end_own_lookup(self);
  if (self->over_tls() && !self->loop_.try_open(self)) return CURL_SOCKET_BAD;
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) self->lacks_descriptor = true;
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

Result<HttpResponse> CurlTransfer::result(CURLcode code) {
  if (!failure_.ok()) return failure_;
  const bool whole = !has_body() || announced_ < 0 || received_ == static_cast<uint64_t>(announced_);
  if (code == CURLE_OK && whole) {
    if (response_.body.size() != received_) response_.body = response_.body.slice(0, received_);
    return std::move(response_);
  }
  // The answer was cut off, whatever libcurl's code is: a retry may bring the rest.
  if (response_.status >= 200 && announced_ >= 0 && received_ < static_cast<uint64_t>(announced_)) {
    return unavailable(fmt::format("cut off after {} of {} bytes", received_, announced_));
  }
  if (response_.status >= 200 && code != CURLE_OK && has_body()) {
    return unavailable(fmt::format("cut off after {} bytes ({})", received_, curl_easy_strerror(code)));
  }
  if (code == CURLE_OPERATION_TIMEDOUT) return no_connection();
  return curl_error(code, handle_.easy, request_.url, detail_, options_->mutual_tls != nullptr);
}

Status CurlTransfer::no_connection() const {
  int limit_ms = options_->connect_timeout_ms;
  if (request_.first_byte_within_ms > 0) limit_ms = std::min(limit_ms, request_.first_byte_within_ms);
  return unavailable(fmt::format("no connection to {} within {} s", origin_, in_seconds(limit_ms)));
}

Status CurlTransfer::check_deadlines(Clock::time_point now) const {
  const auto over = [now](Clock::time_point since, int limit_ms) {
    return now - since > std::chrono::milliseconds(limit_ms);
  };
  if (last_byte_ != Clock::time_point{}) {
    if (!over(last_byte_, options_->stall_timeout_ms)) return {};
    return unavailable(fmt::format("no byte came from {} for {} s: stalled after {} bytes", origin_,
                                   in_seconds(options_->stall_timeout_ms), received_));
  }
  const int within = request_.first_byte_within_ms;
  // An upload in progress is not silence.
  const bool late = within > 0 && over(request_.body.empty() ? started_ : std::max(started_, connected_), within);
  if (connected_ == Clock::time_point{}) {
    // libcurl enforces this limit itself, but not while it waits for another transfer's connection.
    constexpr int kSlackMs = 1000;
    if (!late && !over(started_, options_->connect_timeout_ms + kSlackMs)) return {};
    return no_connection();
  }
  if (!late && !over(connected_, options_->first_byte_timeout_ms)) return {};
  return unavailable(fmt::format(
      "{} was connected, but did not answer within {} s", origin_,
      in_seconds(late ? std::min(within, options_->first_byte_timeout_ms) : options_->first_byte_timeout_ms)));
}

}  // namespace forebay
