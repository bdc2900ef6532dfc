
static void set_faults(void)
{
    for (const struct fault *fault = faults; fault->what != NULL; fault++) {
        int answer = NL_OK;
        if (strcmp(fault->what, "bad") == 0)
            answer = nl_mark_bad(device, (uint32_t)fault->number);
        if (strcmp(fault->what, "fail_program") == 0)
            answer = nl_fail_program(device, fault->number);
        if (strcmp(fault->what, "fail_erase") == 0)
            answer = nl_fail_erase(device, fault->number);
        if (answer != NL_OK)
            failed(fault->what, nl_message(device));
    }
}

int main(int argc, char **argv)
{
    nl_config config;
    nl_geometry shape;
    char why[200] = "";
    object_path = argc > 1 ? argv[1] : FIRMWARE;
    nl_default_config(&config);
    set_chip(&config);
    device = nl_open(&config, why, sizeof why);
    if (device == NULL)
        failed("the chip", why);
    nl_get_geometry(device, &shape);
    set_faults();
    nl_on_power_lost(device, power_lost, NULL);
    plan_cut();
    if (setjmp(after_cut) == 0) {
        mount_firmware();
        for (const struct step *step = steps; step->what != NULL; step++)
            play(step);
        compare();
    } else {
        nl_restore(device);
        check_rules();
        plan_cut();
        mount_firmware();
        compare();
        write_on(4);
        write_on(shape.blocks * shape.pages_per_block);
        mount_firmware();
        compare();
    }
    printf("no finding\n");
    return 0;
}
