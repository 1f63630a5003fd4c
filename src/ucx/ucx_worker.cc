#include "ucx/ucx_worker.h"

#include <poll.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

// Before it, closing a connection that is being made ends the process (UCX's changes 9ccaf31bb6 and 95ba53abf8).
constexpr unsigned kLeastMajor = 1, kLeastMinor = 14;

Status check_version() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  if (major > kLeastMajor || (major == kLeastMajor && minor >= kLeastMinor)) return {};
  return unsupported(
      fmt::format("UCX {}.{}.{} may end the process where a peer goes: {}.{} or later is needed (its "
                  "release for this system, or `pip install libucx-cu12`)",
                  major, minor, release, kLeastMajor, kLeastMinor));
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// UCX would write to standard output, which is the program's. On the threads of ends nothing is said: what fails is in answers, too.
enum class Says { kAsUcx, kToStandardError, kNothing };
thread_local Says tls_says = Says::kAsUcx;

ucs_log_func_rc_t say(const char*, unsigned, const char*, ucs_log_level_t level, const ucs_log_component_config_t*,
                      const char* format, va_list arguments) {
  if (tls_says == Says::kAsUcx || level == UCS_LOG_LEVEL_FATAL) return UCS_LOG_FUNC_RC_CONTINUE;
  if (tls_says == Says::kToStandardError && level <= UCS_LOG_LEVEL_WARN) {
    std::array<char, 1024> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    std::fprintf(stderr, "forebay: UCX: %s\n", text.data());
  }
  return UCS_LOG_FUNC_RC_STOP;
}

class Saying {
 public:
  explicit Saying(Says what) : before_(std::exchange(tls_says, what)) {}
  ~Saying() { tls_says = before_; }

 private:
  const Says before_;
};

// What a program does about its signals is not a transport's business, nor what it prints: unless somebody has asked for that.
void behave_like_a_guest() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!is_set("UCX_LOG_LEVEL")) ucs_log_push_handler(say);
    if (is_set("UCX_HANDLE_ERRORS")) return;
    const Saying nothing(Says::kNothing);  // later ones handle none, and warn about that
    for (const int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ucs_debug_disable_signal(signal);
  });
}

Result<ucp_context_h> make_context(const std::string& devices) {
  ucp_config_t* config = nullptr;
  if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK)
    return ucx_trouble("cannot read the settings of UCX (UCX_*)", status);
  if (!devices.empty() && !is_set("UCX_NET_DEVICES")) ucp_config_modify(config, "NET_DEVICES", devices.c_str());
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  wanted.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  wanted.name = "forebay";
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp_init(&wanted, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) return ucx_trouble("UCX does not start", status);
  return context;
}

}  // namespace

Status ucx_trouble(const std::string& what, ucs_status_t status) {
  return unavailable(fmt::format("{}: {}", what, ucs_status_string(status)));
}

void UcxWorker::close() {
  if (worker_ != nullptr) ucp_worker_destroy(std::exchange(worker_, nullptr));
  if (context_ != nullptr) ucp_cleanup(std::exchange(context_, nullptr));
}

void UcxWorker::own_this_thread() { tls_says = Says::kNothing; }

Status UcxWorker::open(const std::string& devices) {
  FOREBAY_RETURN_IF_ERROR(check_version());
  behave_like_a_guest();
  const Saying warnings(Says::kToStandardError);
  FOREBAY_ASSIGN(context_, make_context(devices));
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // made by one thread, used by another
  ucs_status_t status = ucp_worker_create(context_, &wanted, &worker_);
  if (status == UCS_OK) status = ucp_worker_get_efd(worker_, &events_);
  return status == UCS_OK ? Status() : ucx_trouble("UCX does not start", status);
}

Result<std::string> UcxWorker::address() const {
  ucp_address_t* bytes = nullptr;
  size_t size = 0;
  if (const ucs_status_t status = ucp_worker_get_address(worker_, &bytes, &size); status != UCS_OK)
    return ucx_trouble("UCX does not say where it is reached", status);
  std::string address(reinterpret_cast<const char*>(bytes), size);
  ucp_worker_release_address(worker_, bytes);
  return address;
}

void UcxWorker::sleep(int milliseconds) {
  const ucs_status_t armed = ucp_worker_arm(worker_);
  if (armed == UCS_ERR_BUSY) return;  // something has come meanwhile
  // Without that nothing would wake it: it looks by itself.
  if (armed != UCS_OK) milliseconds = 1;
  pollfd events{.fd = events_, .events = POLLIN, .revents = 0};
  ::poll(&events, 1, milliseconds);
}

}  // namespace forebay
