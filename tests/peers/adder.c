/* A Modbus server on libmodbus with a register that adds: the device in front of which nobody may send twice.
 *
 *   adder WHERE LEDGER [FAULT...]
 *
 * WHERE is `tcp`, for a free port of 127.0.0.1, or the path of a serial port (RTU). The map stands in __init__.py.
 * libmodbus takes requests apart, answers them and keeps the registers; here stands only what a written register does.
 * Each write that took effect is one JSON line in LEDGER, flushed before its answer leaves. `listening PORT` on stdout
 * says that it is ready. A FAULT is `write K WHAT` or `read K WHAT`, for the K-th of them:
 *
 *   lost            neither executed nor answered         mute        executed, never answered
 *   delay MS        executed, answered later              close       executed, then the connection ends
 *   nak CODE        not executed, answered with that exception
 *   nak_after CODE  executed, answered with that exception
 *   later MS        answered with exception 5 (acknowledge), executed later
 */
#include <modbus/modbus.h>

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TOTAL = 0, ADD = 1, FIRST = 3, SECOND = 4, TICKING = 6, LEVEL = 16, WRITTEN_BY_LIBMODBUS = 20 };
enum { LAMP = 0, FLIP = 1, DOOR = 1, READING = 5 };
enum { SIZE = 32, FAULTS_MAX = 16, LIFE_S = 900 };

typedef struct { int write, number; char what[16]; int value; } fault_t;
typedef struct { int is_write, function, address, count; } request_t;

static modbus_t *ctx;
static modbus_mapping_t *map;
static FILE *ledger;
static fault_t faults[FAULTS_MAX];
static int fault_count, write_count, read_count;
static int sink[2]; /* where libmodbus puts its answers, until it is decided what becomes of them */

static uint8_t owed[MODBUS_TCP_MAX_ADU_LENGTH]; /* a request that was accepted and is executed later */
static int owed_length;
static struct timespec owed_at;

static void die(const char *what)
{
    fprintf(stderr, "adder: %s: %s\n", what, modbus_strerror(errno));
    exit(1);
}

static int word(const uint8_t *at) { return at[0] << 8 | at[1]; }

static request_t request_of(const uint8_t *query)
{
    const uint8_t *pdu = query + modbus_get_header_length(ctx);
    request_t request = {0, pdu[0], word(pdu + 1), 1};
    switch (pdu[0]) {
    case 5: case 6: case 22: request.is_write = 1; break;
    case 15: case 16: request.is_write = 1; request.count = word(pdu + 3); break;
    case 23: request.is_write = 1; request.address = word(pdu + 5); request.count = word(pdu + 7); break;
    default: request.count = word(pdu + 3);
    }
    return request;
}

static int touches(const request_t *request, int first, int count)
{
    return request->address < first + count && first < request->address + request->count;
}

static void take_effect(const request_t *request)
{
    int coils = request->function == 5 || request->function == 15;
    uint16_t *held = map->tab_registers;
    if (!coils && touches(request, ADD, 1))
        held[TOTAL] += held[ADD];
    if (coils && touches(request, FLIP, 1))
        map->tab_bits[LAMP] = !map->tab_bits[LAMP];
    fprintf(ledger, "{\"function\": %d, \"address\": %d, \"value\": %d, \"total\": %d, \"lamp\": %d", request->function,
            request->address, coils ? map->tab_bits[request->address] : held[request->address], held[TOTAL],
            map->tab_bits[LAMP]);
    if (!coils && touches(request, LEVEL, 2))
        fprintf(ledger, ", \"abcd\": \"%.9g\", \"badc\": \"%.9g\", \"cdab\": \"%.9g\", \"dcba\": \"%.9g\"",
                modbus_get_float_abcd(held + LEVEL), modbus_get_float_badc(held + LEVEL),
                modbus_get_float_cdab(held + LEVEL), modbus_get_float_dcba(held + LEVEL));
    fprintf(ledger, "}\n");
    fflush(ledger);
}

/* Let libmodbus do what is asked, and return the length of its answer, which is in `answer`. */
static int execute(const uint8_t *query, int length, uint8_t *answer)
{
    request_t request = request_of(query);
    if (!request.is_write && request.function == 3 && touches(&request, TICKING, 2)) {
        map->tab_registers[TICKING]++;
        map->tab_registers[TICKING + 1]++;
    }
    int line = modbus_get_socket(ctx);
    modbus_set_socket(ctx, sink[0]);
    if (modbus_reply(ctx, query, length, map) == -1)
        die("modbus_reply");
    modbus_set_socket(ctx, line);
    int size = recv(sink[1], answer, MODBUS_TCP_MAX_ADU_LENGTH, 0);
    int refused = answer[modbus_get_header_length(ctx)] & 0x80;
    if (request.is_write && !refused)
        take_effect(&request);
    return size;
}

static const fault_t *fault_of(int is_write)
{
    int number = is_write ? ++write_count : ++read_count;
    for (int i = 0; i < fault_count; i++)
        if (faults[i].write == is_write && faults[i].number == number)
            return &faults[i];
    return NULL;
}

/* Answer one request. Returns -1 where the connection is to end. */
static int serve(const uint8_t *query, int length)
{
    uint8_t answer[MODBUS_TCP_MAX_ADU_LENGTH];
    const fault_t *fault = fault_of(request_of(query).is_write);
    const char *what = fault ? fault->what : "";
    if (!strcmp(what, "lost"))
        return 0;
    if (!strcmp(what, "nak"))
        return modbus_reply_exception(ctx, query, fault->value);
    if (!strcmp(what, "later")) {
        memcpy(owed, query, owed_length = length);
        clock_gettime(CLOCK_MONOTONIC, &owed_at);
        owed_at.tv_nsec += fault->value * 1000000L;
        owed_at.tv_sec += owed_at.tv_nsec / 1000000000L;
        owed_at.tv_nsec %= 1000000000L;
        return modbus_reply_exception(ctx, query, MODBUS_EXCEPTION_ACKNOWLEDGE);
    }
    int size = execute(query, length, answer);
    if (!strcmp(what, "mute"))
        return 0;
    if (!strcmp(what, "close"))
        return -1;
    if (!strcmp(what, "nak_after"))
        return modbus_reply_exception(ctx, query, fault->value);
    if (!strcmp(what, "delay"))
        usleep(fault->value * 1000);
    return write(modbus_get_socket(ctx), answer, size) == size ? 0 : -1;
}

/* Do what was accepted and is due; returns how long to wait for what is not. */
static struct timeval *settle(struct timeval *wait)
{
    struct timespec now;
    if (!owed_length)
        return NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long left_us = (owed_at.tv_sec - now.tv_sec) * 1000000L + (owed_at.tv_nsec - now.tv_nsec) / 1000L;
    if (left_us <= 0) {
        uint8_t unsent[MODBUS_TCP_MAX_ADU_LENGTH];
        execute(owed, owed_length, unsent);
        owed_length = 0;
        return NULL;
    }
    wait->tv_sec = left_us / 1000000L;
    wait->tv_usec = left_us % 1000000L;
    return wait;
}

static void receive(int line, int listener, fd_set *lines)
{
    uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
    modbus_set_socket(ctx, line);
    int length = modbus_receive(ctx, query);
    int broken = length == -1 && (listener != -1 || (errno != EMBBADCRC && errno != ETIMEDOUT));
    if (length > 0)
        broken = serve(query, length) == -1;
    if (broken && listener == -1)
        die("the serial port");
    if (broken) {
        FD_CLR(line, lines);
        close(line);
    }
}

static void serve_all(int listener)
{
    fd_set lines, ready;
    FD_ZERO(&lines);
    FD_SET(listener != -1 ? listener : modbus_get_socket(ctx), &lines);
    for (;;) {
        struct timeval wait;
        ready = lines;
        if (select(FD_SETSIZE, &ready, NULL, NULL, settle(&wait)) == -1)
            die("select");
        for (int line = 0; line < FD_SETSIZE; line++) {
            if (!FD_ISSET(line, &ready))
                continue;
            if (line != listener) {
                receive(line, listener, &lines);
                continue;
            }
            int client = modbus_tcp_accept(ctx, &listener);
            if (client == -1)
                die("accept");
            FD_SET(client, &lines);
        }
    }
}

/* A float in each order. What a setter of libmodbus 3.1.6 writes, its getter of the same name reads otherwise (libmodbus
 * issues 757 and 807); the getters agree with the documentation, so an order is here what its getter reads. */
static void write_floats(void)
{
    static void (*const setters[])(float, uint16_t *) = {modbus_set_float_abcd, modbus_set_float_badc,
                                                         modbus_set_float_cdab, modbus_set_float_dcba};
    static float (*const getters[])(const uint16_t *) = {modbus_get_float_abcd, modbus_get_float_badc,
                                                         modbus_get_float_cdab, modbus_get_float_dcba};
    for (int order = 0; order < 4; order++) {
        uint16_t *at = map->tab_registers + WRITTEN_BY_LIBMODBUS + 2 * order;
        for (int i = 0; i < 4 && getters[order](at) != 1234.5f; i++)
            setters[i](1234.5f, at);
    }
}

static int listen_on(const char *where)
{
    struct sockaddr_in name;
    socklen_t size = sizeof name;
    int tcp = !strcmp(where, "tcp");
    ctx = tcp ? modbus_new_tcp("127.0.0.1", 0) : modbus_new_rtu(where, 9600, 'N', 8, 1);
    if (!ctx || modbus_set_slave(ctx, 1) == -1)
        die("a context");
    modbus_set_response_timeout(ctx, 0, 1000); /* how long modbus_reply sleeps before it refuses something */
    int listener = tcp ? modbus_tcp_listen(ctx, 5) : -1;
    if (tcp ? listener == -1 || getsockname(listener, (struct sockaddr *)&name, &size) : modbus_connect(ctx) == -1)
        die(where);
    printf("listening %d\n", tcp ? ntohs(name.sin_port) : 0);
    fflush(stdout);
    return listener;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: adder WHERE LEDGER [FAULT...]");
    alarm(LIFE_S);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 3; i < argc && fault_count < FAULTS_MAX; i++) {
        fault_t *fault = &faults[fault_count++];
        char kind[8];
        if (sscanf(argv[i], "%7s %d %15s %d", kind, &fault->number, fault->what, &fault->value) < 3)
            die(argv[i]);
        fault->write = !strcmp(kind, "write");
    }
    map = modbus_mapping_new(SIZE, SIZE, SIZE, SIZE);
    ledger = fopen(argv[2], "a");
    if (!map || !ledger || socketpair(AF_UNIX, SOCK_STREAM, 0, sink) == -1)
        die(argv[2]);
    map->tab_registers[FIRST] = 1111;
    map->tab_registers[SECOND] = 2222;
    map->tab_input_bits[DOOR] = 1;
    map->tab_input_registers[READING] = 4444;
    write_floats();
    serve_all(listen_on(argv[1]));
}
